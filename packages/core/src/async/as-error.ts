/** A thrown value as an error; a value of another type becomes its message. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
