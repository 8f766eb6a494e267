import type { LaunchOptions } from '../harness.js';
import type { OpenStackHarness, OpenStackSetup } from '../openstack/openstack-harness.js';
import type { Stage } from './stage.js';

/** Something that happens to an installation, and how it is repaired. */
export interface Incident {
  readonly name: string;
  /** What names the cause, in a line of an instrument. */
  readonly named: RegExp;
  /** Default: one label, `small`. */
  readonly setup?: OpenStackSetup;
  /** Labels that jobs use all the time. Default: `small`. */
  readonly labels?: readonly string[];
  /** Before launchers start. @returns options of the second launcher */
  readonly prepare?: (harness: OpenStackHarness) => Promise<LaunchOptions | undefined>;
  /** What happens, after jobs have begun. Its 30 and 60 s count from its end. */
  readonly cause: (stage: Stage) => unknown;
  /** Repairs it. Faults, stopped services and limits of the cloud are restored anyway. */
  readonly repair?: (stage: Stage) => unknown;
  /** After launchers have ended. */
  readonly end?: () => unknown;
  /** What the cloud shows after 60 s. */
  readonly fact?: (stage: Stage) => Promise<string>;
}
