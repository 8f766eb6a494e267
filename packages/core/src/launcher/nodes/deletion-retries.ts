import { backoffMs, type CancelTimer, type NodeId } from '@nodepool/zk-protocol';
import { reasonOfError, type ErrorReason } from '../../conditions/error-reason.js';
import type { Context } from '../state/context.js';

/** A deletion under way or waiting for its next try. */
export interface DeletionStatus {
  readonly nodeId: NodeId;
  readonly attempts: number;
  readonly error: string | undefined;
  /** Class of that error, and when it was. */
  readonly reason: ErrorReason | undefined;
  readonly failedMs: number | undefined;
  readonly nextTryMs: number | undefined;
}

type Deletion = { -readonly [Key in keyof Omit<DeletionStatus, 'nodeId'>]: DeletionStatus[Key] } & {
  cancel: CancelTimer | undefined;
};

const NEW: Deletion = {
  ...{ attempts: 0, error: undefined, reason: undefined, failedMs: undefined },
  ...{ nextTryMs: undefined, cancel: undefined },
};
const RETRY = { firstMs: 1_000, longestMs: 300_000 };
/** After a deletion that was interrupted and did not fail. */
const SOON = { ...RETRY, firstMs: 50 };

/** Nodes that could not be taken back: each is tried again, after growing pauses and without end. */
export class DeletionRetries {
  readonly #context: Pick<Context, 'clock' | 'random'>;
  readonly #deletions = new Map<NodeId, Deletion>();
  #onDue: (id: NodeId) => void = () => undefined;

  constructor(context: Pick<Context, 'clock' | 'random'>) {
    this.#context = context;
  }

  /** Calls the listener when the pause of a node is over. */
  onDue(listener: (id: NodeId) => void): void {
    this.#onDue = listener;
  }

  /** Deletions that have failed at least once. */
  failing(): DeletionStatus[] {
    return [...this.#deletions]
      .filter(([, deletion]) => deletion.error !== undefined)
      .map(([nodeId, { cancel: _cancel, ...deletion }]) => ({ nodeId, ...deletion }));
  }

  /** The node's pause is not over. */
  isPausing(id: NodeId): boolean {
    return this.#deletions.get(id)?.cancel !== undefined;
  }

  /** Begins the node's next pause. @param error - what failed; `undefined`: interrupted, so the pause is shorter */
  retryLater(id: NodeId, error: Error | undefined): void {
    const { clock, random } = this.#context;
    const deletion = this.#deletions.get(id) ?? { ...NEW };
    const pause = backoffMs(deletion.attempts, error === undefined ? SOON : RETRY, random);
    deletion.attempts++;
    if (error) Object.assign(deletion, { error: error.message, reason: reasonOfError(error), failedMs: clock.now() });
    deletion.nextTryMs = clock.now() + pause;
    deletion.cancel = clock.setTimer(pause, () => {
      deletion.cancel = undefined;
      this.#onDue(id);
    });
    this.#deletions.set(id, deletion);
  }

  /** The node has been taken back, by this launcher or another. */
  done(id: NodeId): void {
    this.#deletions.get(id)?.cancel?.();
    this.#deletions.delete(id);
  }

  /** Ends all pauses; no node is tried again. */
  stop(): void {
    for (const { cancel } of this.#deletions.values()) cancel?.();
    this.#deletions.clear();
  }
}
