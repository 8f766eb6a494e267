/** The command line cannot be understood; the process ends with status 2. */
export class UsageError extends Error {
  readonly code = 'NODEPOOL_USAGE';
}
