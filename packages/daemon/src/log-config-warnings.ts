import type { Config, Logger } from '@nodepool/core';

/** Logs what is doubtful in a configuration that was loaded, each with its place. */
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
