import type { Config, ConfigProblem } from '@nodepool/core';
import type { NodeRow } from '@nodepool/core/service';
import type { BuildRecord, ComponentRecord, ControlRecord, PoolComponentRecord } from '@nodepool/zk-protocol';
import type { ServiceReport, SilentService } from './ask-services.js';

/** Something that is wrong, and what to do about it. */
export interface Finding {
  /** `error`: something does not work; `warning`: it will not for long, or not as it should. */
  readonly severity: 'error' | 'warning';
  readonly text: string;
  /** A command, or what to change. */
  readonly remedy: string;
}

/** Something that does not work. */
export function error(text: string, remedy: string): Finding {
  return { severity: 'error', text, remedy };
}

/** Something that will not work for long, or not as it should. */
export function warning(text: string, remedy: string): Finding {
  return { severity: 'warning', text, remedy };
}

/** What is looked at. */
export interface Situation {
  readonly nowMs: number;
  readonly config: Config | undefined;
  /** Errors and warnings of the configuration, read with its drivers. */
  readonly configProblems: readonly ConfigProblem[];
  /** What registered launchers and builders say, as far as they tell where they answer. */
  readonly services: readonly (ServiceReport | SilentService)[];
  readonly components: readonly ComponentRecord[];
  readonly pools: readonly PoolComponentRecord[];
  readonly nodes: readonly NodeRow[];
  readonly controls: readonly ControlRecord[];
  /** The newest ready build of each image; `undefined` for an image without one. */
  readonly builds: ReadonlyMap<string, BuildRecord | undefined>;
  /** By image: that its newest build has failed, and why. */
  readonly failedBuilds: ReadonlyMap<string, string>;
  /** By image: why its newest build was withdrawn, or is launched only where there is no other. */
  readonly withdrawn: ReadonlyMap<string, string>;
  /** Time that ZooKeeper takes to answer, ms. */
  readonly answerMs: number;
  /** Permission bits of files with secrets. */
  readonly secretFiles: readonly { readonly file: string; readonly mode: number }[];
}
