/** Base class of all errors that this project throws on purpose. */
export class NodepoolError extends Error {
  /** Stable, documented identifier such as `NODEPOOL_CONFIG`; test with {@link isNodepoolError}, never by message. */
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Whether an error is one of this project, optionally with a code. Works across several installed copies of a package. */
export function isNodepoolError(error: unknown, code?: string): error is NodepoolError {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return code === undefined ? error.code.startsWith('NODEPOOL_') || error.code.startsWith('ZK_') : error.code === code;
}
