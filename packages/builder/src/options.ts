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
  /** Maximum number of concurrent builds. */
  readonly buildWorkers: number;
  /** Maximum number of concurrent uploads. */
  readonly uploadWorkers: number;
  /** Parent of directories for temporary files. */
  readonly tmpDir: string;
  readonly packageDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prefix of the commands of builds and hooks. Default: separate namespaces if available. */
  readonly sandbox?: Sandbox | undefined;
  readonly events: BuilderEvents;
  /** Creates the context of a provider. */
  readonly contextOf: ContextOf;
}
