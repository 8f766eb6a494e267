/** An answer that is no success: what was tried, and the fix. */
export class ApiError extends Error {
  /**
   * @param code - `kebab-case`, for programs
   * @param facts - further members of the problem document, for programs
   */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly facts: Readonly<Record<string, number>> = {},
  ) {
    super(message);
  }
}
