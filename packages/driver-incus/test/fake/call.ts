/** An answer of the fake daemon. */
export interface FakeAnswer {
  readonly status: number;
  readonly text: string;
  /** The effect took place, but the connection ends without an answer. */
  readonly isLost?: boolean;
}

/** A JSON object. */
export type Body = Record<string, unknown>;

/** One call of the fake daemon. */
export interface Call {
  readonly method: string;
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly body: Body;
  readonly raw: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer to a call that took effect. */
export function success(metadata: unknown): FakeAnswer {
  return { status: 200, text: JSON.stringify({ type: 'sync', status: 'Success', status_code: 200, metadata }) };
}

/** The answer to a refused call. */
export function failure(status: number, error: string): FakeAnswer {
  return { status, text: JSON.stringify({ type: 'error', error, error_code: status, metadata: null }) };
}
