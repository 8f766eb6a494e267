/** Anything that went wrong, with a code that does not change. Compare `code`: two copies of this package have different classes. */
export class NodepoolClientError extends Error {
  /**
   * @param code - `unreachable`, `not-nodepool`, `lease-failed`, `lease-ended`, `lease-lost`, `wrong-argument`, or the code of
   *   the server's problem document
   */
  constructor(
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server refused a call. Its `code` is that of the problem document. */
export class RefusedError extends NodepoolClientError {
  /**
   * @param status - HTTP status
   * @param longestTtlMs - with `ttl-too-long` and `max-hold-age`: the longest time to live that is allowed now
   */
  constructor(
    readonly status: number,
    code: string,
    message: string,
    readonly longestTtlMs?: number,
  ) {
    super(code, message);
  }
}

/** The server did not answer, `code` is `unreachable`. */
export class UnreachableError extends NodepoolClientError {
  /** @param isPermanent - whether repeating it is of no use, as with a wrong certificate */
  constructor(
    message: string,
    readonly isPermanent: boolean,
    options?: { cause?: unknown },
  ) {
    super('unreachable', message, options);
  }
}

/**
 * There are no nodes, or they are no longer yours: `lease-failed`, no pool can serve it; `lease-ended`, it was ended while it
 * waited; `lease-lost`, it expired, was ended by another, or its nodes are gone.
 */
export class LeaseOverError extends NodepoolClientError {
  constructor(
    code: 'lease-failed' | 'lease-ended' | 'lease-lost',
    readonly leaseId: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(code, message, options);
  }
}
