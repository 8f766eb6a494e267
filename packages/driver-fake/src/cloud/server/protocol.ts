import type { Json } from '@nodepool/zk-protocol';
import type { FailureKind, InstanceEvent } from '../model/types.js';

/** One line of a client: a call. */
export interface CallMessage {
  /** Chosen by the client; the answer carries it. */
  readonly id: number;
  /** A call of the API, `subscribe`, or `stop`. */
  readonly call: string;
  readonly args?: Json | undefined;
}

/** One line of the server: an answer, or an event. */
export type ServerMessage =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: { readonly kind: FailureKind; readonly message: string } }
  | { readonly event: InstanceEvent }
  /** Before the events of all instances there are: forget what you know. */
  | { readonly reset: true };

/** Longest line that is read; a longer one ends the connection. */
const MAX_LINE_CHARS = 4 * 1024 * 1024;

/** Cuts what a socket receives into lines. */
export class LineReader {
  #rest = '';

  /**
   * The lines that are complete now.
   * @throws {RangeError} a line is too long to be meant
   */
  read(chunk: string): string[] {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_LINE_CHARS) throw new RangeError('a line is longer than 4 MiB');
    return lines.filter((line) => line !== '');
  }
}

/** Reads a client's line; `undefined` when it is none. */
export function readCall(line: string): CallMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    const { id, call, args } = value as Record<string, unknown>;
    if (typeof id !== 'number' || typeof call !== 'string') return undefined;
    return { id, call, args: args as Json };
  } catch {
    return undefined; // Not JSON: the caller answers for it.
  }
}
