/** What the client logs with; any logger of the project fits. */
export interface ZooKeeperLogger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Logs nothing. */
export const silentZooKeeperLogger: ZooKeeperLogger = { debug() {}, info() {}, warn() {}, error() {} };
