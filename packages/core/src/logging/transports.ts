import winston, { type Logform } from 'winston';
import Transport from 'winston-transport';
import { LEVELS, type Threshold } from './levels.js';
import { LogFile, type LogFileOptions } from './log-file.js';

/** Key under which winston's formats store the text of a line. */
const MESSAGE = Symbol.for('message');

/** Streams and callbacks of transports. */
export interface TransportResources extends Pick<LogFileOptions, 'clock' | 'onReopen' | 'onError'> {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Called with every opened file; the caller closes it. */
  onFile(file: LogFile): void;
}

/** Output of a transport. */
export type LineTarget = NodeJS.WritableStream | LogFile;

/** Writes lines to a file. Warnings and errors are written before the call returns, as a crash may follow. */
class FileTransport extends Transport {
  constructor(
    private readonly file: LogFile,
    options: Transport.TransportStreamOptions,
  ) {
    super(options);
  }

  override log(info: Logform.TransformableInfo, next: () => void): void {
    this.file.write(`${String(info[MESSAGE])}\n`, LEVELS[info.level as Threshold] <= LEVELS.warn);
    next();
  }
}

/**
 * A winston transport that writes lines to a stream or a file.
 * @param level - minimum severity
 */
export function lineTransport(
  target: LineTarget,
  format: Logform.Format,
  level: Threshold = 'debug',
): winston.transport {
  const transport =
    target instanceof LogFile
      ? new FileTransport(target, { format, level })
      : new winston.transports.Stream({ stream: target, format, level, eol: '\n' });
  transport.setMaxListeners(0); // shared by the loggers of several names
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
