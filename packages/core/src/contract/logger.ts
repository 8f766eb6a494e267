/** Fields of a log line. Values that can hold secrets must not be passed. */
export interface LogFields {
  eventId?: string | null | undefined;
  requestId?: string | null | undefined;
  nodeId?: string | null | undefined;
  provider?: string | null | undefined;
  pool?: string | null | undefined;
  /** The error behind the line; its stack appears at debug level. */
  error?: unknown;
  [field: string]: unknown;
}

/** Logger of library code. Messages are constant texts; variable data belongs into fields. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /**
   * A logger that adds these fields to every line; `name` appends to the logger's dotted name, unless it begins with
   * `nodepool.`: then it is the whole name.
   */
  child(fields: LogFields, name?: string): Logger;
}

/** Discards everything. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
