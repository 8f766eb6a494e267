import type { Config } from '@nodepool/core';
import type { NodeRow } from '@nodepool/core/service';
import type { BuildRecord, ComponentRecord, ControlRecord, PoolComponentRecord } from '@nodepool/zk-protocol';

/** Something that is wrong, and what to do about it. */
export interface Finding {
  /** `error`: something does not work; `warning`: it will not for long, or not as it should. */
  readonly severity: 'error' | 'warning';
  readonly text: string;
  /** A command, or what to change. */
  readonly remedy: string;
}

/** What is looked at. */
export interface Situation {
  readonly nowMs: number;
  readonly config: Config | undefined;
  readonly components: readonly ComponentRecord[];
  readonly pools: readonly PoolComponentRecord[];
  readonly nodes: readonly NodeRow[];
  readonly controls: readonly ControlRecord[];
  /** The newest ready build of each image; `undefined` for an image without one. */
  readonly builds: ReadonlyMap<string, BuildRecord | undefined>;
  /** Time that ZooKeeper takes to answer, ms. */
  readonly answerMs: number;
  /** Permission bits of files with secrets. */
  readonly secretFiles: readonly { readonly file: string; readonly mode: number }[];
}
