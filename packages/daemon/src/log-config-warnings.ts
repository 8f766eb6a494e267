import type { Config, Logger } from '@nodepool/core';

/** Logs each warning about a configuration with its location. */
export function logConfigWarnings(config: Config, logger: Logger): void {
  for (const { message, path, position } of config.warnings) {
    logger.warn('Configuration warning', {
      path,
      problem: message,
      file: position?.file,
      line: position?.line,
      column: position?.column,
    });
  }
}
