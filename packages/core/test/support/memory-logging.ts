import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { createLogging, type LoggingOptions } from '../../src/logging/create-logging.js';

/** Timestamp at the start of a line in the default format. */
export const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} /gm;

/** A logger that keeps its console output in memory. */
export function memoryLogging(options: LoggingOptions = {}) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const logging = createLogging({ ...options, streams: { stdout, stderr } });
  onTestFinished(() => logging.close());
  const textOf = (stream: PassThrough) => String(stream.read() ?? '').replace(TIME, '');
  return { ...logging, stdout: () => textOf(stdout), stderr: () => textOf(stderr) };
}
