/** What was thrown, as an error: whatever is none becomes the message of one. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
