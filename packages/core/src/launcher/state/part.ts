import type { FoundCondition } from '../../contract/condition.js';

/** When parts look at everything again: the records and the registry may be other ones, or an event may have been missed. */
export type Occasion = 'start' | 'reconnect' | 'reload' | 'minute';

/**
 * A part of a launcher. Whatever concerns all parts walks the one list of them in `parts.ts`; a member that a part lacks does not
 * concern it. Parts depend on those before them in the list, so that is the order in which they start, and they end in reverse.
 */
export interface Part {
  /** Paths of ZooKeeper below which its records are: created before the start, and again in another database. */
  readonly directories?: readonly string[];
  /** Resolves when what must be known before the launcher registers has been read. */
  start?(): Promise<void>;
  /** What is wrong now, as it knows it. Called once the launcher has started. */
  conditions?(nowMs: number): readonly FoundCondition[];
  /** Looks at everything again. While the launcher is not connected, only a reload calls it. */
  reconsider?(occasion: Occasion): unknown;
  /** The session has ended, and with it all locks and registrations. */
  sessionLost?(cause: Error): void;
  /** A new session has begun. */
  sessionRenewed?(): Promise<void>;
  /** Begins no long work any more: the launcher drains or stops. */
  close?(): void;
  /** Finishes the work in progress, and begins none. */
  drain?(): Promise<unknown>;
  /** What {@link Part.drain} waits for, for operators. */
  readonly drains?: string;
  /** Ends at once, without a wait for work in progress. */
  stop?(): unknown;
}
