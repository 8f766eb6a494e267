import { randomUUID } from 'node:crypto';
import type { Clock } from '@nodepool/core';
import type { ApiOperation } from '../../src/api.js';
import type { FakeAnswer } from './call.js';

const RUNNING = 103;
const SUCCESS = 200;
const FAILURE = 400;

/** The background operations of the fake daemon, and the stream of their events. */
export class FakeOperations {
  readonly #clock: Clock;
  readonly #operations: Map<string, ApiOperation>;
  readonly #listeners = new Set<(message: string) => void>();

  constructor(clock: Clock, operations: Map<string, ApiOperation>) {
    this.#clock = clock;
    this.#operations = operations;
  }

  /** Sends the messages of the event stream to a listener. @returns how to end it */
  subscribe(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts an operation. @param end - its effect; returns an error, or nothing */
  begin(
    description: string,
    ms: number,
    end: () => string,
    metadata: Record<string, unknown> | null = null,
  ): FakeAnswer {
    const id = randomUUID();
    const state = { status: 'Running', status_code: RUNNING, err: '' };
    const operation: ApiOperation & { description: string } = { id, description, ...state, metadata };
    this.#operations.set(id, operation);
    this.#notify(operation);
    this.#clock.setTimer(ms, () => {
      if (!this.#operations.has(id)) return;
      const err = end();
      const ended =
        err === '' ? { status: 'Success', status_code: SUCCESS } : { status: 'Failure', status_code: FAILURE };
      this.#operations.set(id, { ...operation, ...ended, err });
      this.#notify({ ...operation, ...ended, err });
    });
    const text = JSON.stringify({
      type: 'async',
      status_code: 100,
      operation: `/1.0/operations/${id}`,
      metadata: operation,
    });
    return { status: 202, text };
  }

  #notify(operation: ApiOperation): void {
    const message = JSON.stringify({ type: 'operation', metadata: operation });
    for (const listener of this.#listeners) listener(message);
  }
}
