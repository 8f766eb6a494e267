import winston, { type Logform } from 'winston';
import type { Threshold } from './levels.js';
import { LogFile, type LogFileOptions } from './log-file.js';

/** What transports write to, and who looks after them. */
export interface TransportResources extends Pick<LogFileOptions, 'clock' | 'onReopen' | 'onError'> {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Told of every file opened, so that it can be closed. */
  onFile(file: LogFile): void;
}

/**
 * A winston transport that writes lines to a stream.
 * @param level - least severity that it takes
 */
export function streamTransport(
  stream: NodeJS.WritableStream,
  format: Logform.Format,
  level: Threshold = 'debug',
): winston.transport {
  const transport = new winston.transports.Stream({ stream, format, level, eol: '\n' });
  transport.setMaxListeners(0); // the loggers of several names may share it
  return transport;
}

/** Opens a log file. @param fail - called with the reason when it cannot be written */
export function openLogFile(
  filename: string,
  options: LogFileOptions & Pick<TransportResources, 'onFile'>,
  fail: (reason: string) => never,
): LogFile {
  try {
    const file = new LogFile(filename, options);
    options.onFile(file);
    return file;
  } catch (error) {
    return fail(`${filename} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}
