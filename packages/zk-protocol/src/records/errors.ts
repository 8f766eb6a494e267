import { NodepoolError } from '../base/errors.js';

/**
 * Thrown when a stored body is malformed. Leave the record unchanged: other programs may understand it.
 */
export class RecordError extends NodepoolError {
  /** The record, e.g. `node 0000000042`. */
  readonly record: string;
  /** The offending key; `undefined` if the body as a whole is malformed. */
  readonly key: string | undefined;

  constructor(record: string, problem: string, options: { key?: string | undefined; cause?: unknown } = {}) {
    super('NODEPOOL_RECORD', `cannot read ${record}: ${problem}`, { cause: options.cause });
    this.record = record;
    this.key = options.key;
  }
}

/** Thrown when our code attempts a state change that the data model forbids: always a defect. */
export class TransitionError extends NodepoolError {
  readonly from: string | undefined;
  readonly to: string;
  readonly actor: string;

  constructor(kind: string, from: string | undefined, to: string, actor: string) {
    super(
      'NODEPOOL_TRANSITION',
      `"${actor}" may not change the state of a ${kind} from "${from ?? '(new)'}" to "${to}"; see the state tables`,
    );
    this.from = from;
    this.to = to;
    this.actor = actor;
  }
}
