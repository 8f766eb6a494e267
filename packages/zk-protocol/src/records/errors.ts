import { NodepoolError } from '../base/errors.js';

/**
 * Thrown when a stored body cannot be read as the record it should be. Leave that record unchanged: others may know it.
 */
export class RecordError extends NodepoolError {
  /** What the body should have been, e.g. `node 0000000042`. */
  readonly record: string;
  /** The offending key; `undefined` when the body as a whole is wrong. */
  readonly key: string | undefined;

  constructor(record: string, problem: string, options: { key?: string | undefined; cause?: unknown } = {}) {
    super('NODEPOOL_RECORD', `cannot read ${record}: ${problem}`, { cause: options.cause });
    this.record = record;
    this.key = options.key;
  }
}

/** Thrown when our own code asks for a state change the data model does not allow; a defect, never an operator's error. */
export class TransitionError extends NodepoolError {
  readonly from: string | undefined;
  readonly to: string;
  readonly actor: string;

  constructor(kind: string, from: string | undefined, to: string, actor: string) {
    super(
      'NODEPOOL_TRANSITION',
      `a ${kind} may not go from "${from ?? '(new)'}" to "${to}" by the hand of "${actor}"; see the state tables`,
    );
    this.from = from;
    this.to = to;
    this.actor = actor;
  }
}
