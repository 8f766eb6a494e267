/** An answer that is no success: what was tried, and the fix. */
export class ApiError extends Error {
  /** @param code - `kebab-case`, for programs */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
