import Transport from 'winston-transport';
import type { LineFormat } from './text-format.js';
import type { LogRecord } from './log-record.js';

/** Where finished lines go. */
export interface LineSink {
  write(text: string): void;
  /** Writes at once what is waiting, and lets go of the resource. */
  close(): void;
}

/** A record in the envelope that winston's transports expect. */
export interface TransportInfo {
  level: string;
  message: string;
  record: LogRecord;
}

/** A winston transport that writes one text per record. */
export class LineTransport extends Transport {
  readonly #toLines: LineFormat;
  readonly #sink: LineSink;

  constructor(toLines: LineFormat, sink: LineSink) {
    super();
    this.#toLines = toLines;
    this.#sink = sink;
  }

  override log(info: TransportInfo, next: () => void): void {
    this.#sink.write(this.#toLines(info.record));
    next();
  }

  override close(): void {
    this.#sink.close();
  }
}

/** A transport with the least severity it is given. */
export interface LogHandler {
  readonly level: number;
  readonly transport: Transport;
}

/** A sink on an open stream, which stays open. */
export function streamSink(stream: NodeJS.WritableStream): LineSink {
  return {
    write: (text) => void stream.write(`${text}\n`),
    close: () => {},
  };
}
