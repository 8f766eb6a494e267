import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import winston from 'winston';
import { tempDir } from '../../test/support/temp-dir.js';
import type { LogFile } from './log-file.js';
import { lineTransport, openLogFile } from './transports.js';

const format = winston.format.printf(({ level, message }) => `${level} ${String(message)}`);
const refuse = (reason: string): never => {
  throw new Error(reason);
};

function open(filename: string): { file: LogFile; opened: LogFile[] } {
  const opened: LogFile[] = [];
  const options = { clock: systemClock, onReopen: () => undefined, onError: () => undefined };
  const file = openLogFile(filename, { ...options, onFile: (each) => opened.push(each) }, refuse);
  return { file, opened };
}

it('writes a warning and the lines before it to the file before the call returns', () => {
  const filename = join(tempDir(), 'a.log');
  const { file, opened } = open(filename);
  const logger = winston.createLogger({ level: 'debug', transports: [lineTransport(file, format, 'info')] });

  logger.debug('not taken');
  logger.info('first');
  logger.warn('second');
  const written = readFileSync(filename, 'utf8');
  file.close();

  expect(written).toBe('info first\nwarn second\n');
  expect(opened).toEqual([file]);
});

it('reports why a file cannot be written', () => {
  const directory = tempDir();

  expect(() => open(directory)).toThrow(`${directory} cannot be written: `);
});
