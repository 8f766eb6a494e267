import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config, Logger } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import type { BuilderEvents } from '@nodepool/core/service';
import type { ContextOf } from './providers/image-providers.js';
import type { Sandbox } from './tool/sandbox.js';

/** Options of a builder. */
export interface BuilderOptions {
  readonly zk: ZooKeeper;
  readonly config: Config;
  readonly registry: DriverRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Release of the program. */
  readonly version: string;
  /** Builds at a time. */
  readonly buildWorkers: number;
  /** Uploads at a time. */
  readonly uploadWorkers: number;
  /** Where directories for temporary files are made. */
  readonly tmpDir: string;
  readonly packageDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Words before the commands of builds and hooks. Default: namespaces of their own, where they are to be had. */
  readonly sandbox?: Sandbox | undefined;
  readonly events: BuilderEvents;
  /** What drivers are given to make their providers. */
  readonly contextOf: ContextOf;
}
