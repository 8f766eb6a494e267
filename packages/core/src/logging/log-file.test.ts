import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tempDir } from '../../test/support/temp-dir.js';
import { createLogging } from './create-logging.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Time for which lines are buffered. */
const passMoment = () => vi.advanceTimersByTime(50);

/** Messages of a file in the default format. */
const messages = (file: string) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^.* INFO nodepool: /, ''));

describe('a log file', () => {
  it('is not written through a symbolic link in a world-writable directory', () => {
    const [shared, victim] = [tempDir(), join(tempDir(), 'victim')];
    chmodSync(shared, 0o1777);
    writeFileSync(victim, '');
    const file = join(shared, 'nodepool.log');
    symlinkSync(victim, file);

    expect(() => createLogging({ destination: { file } })).toThrow(
      /is a link in a directory that every user may write/,
    );

    expect(readFileSync(victim, 'utf8')).toBe('');
  });

  it('is not written as root in a directory of another user, also when a configuration of logging names it', () => {
    if (process.geteuid?.() !== 0) return; // Only root can give directories away.
    const dir = tempDir({ 'theirs/other.log': '' });
    const [theirs, victim, configFile] = [join(dir, 'theirs'), join(dir, 'victim'), join(dir, 'logging.yaml')];
    const file = join(theirs, 'nodepool.log');
    symlinkSync(victim, file);
    chownSync(theirs, 4711, 4711);
    writeFileSync(
      configFile,
      `version: 1\nhandlers: {file: {class: logging.FileHandler, filename: "${file}"}}\nroot: {handlers: [file]}\n`,
    );

    const refusal = /belongs to another user \(uid 4711\).*"chown root:root/;
    expect(() => createLogging({ destination: { file } })).toThrow(refusal);
    expect(() => createLogging({ configFile })).toThrow(refusal);
    expect(existsSync(victim)).toBe(false);
  });

  it('is reopened after another program moves it', () => {
    const file = join(tempDir(), 'log', 'nodepool.log');
    let reopened = 0;
    const { logger, close } = createLogging({ destination: { file }, onReopen: () => reopened++ });

    logger.info('one');
    close();
    const second = createLogging({ destination: { file }, onReopen: () => reopened++ });
    renameSync(file, `${file}.1`);
    second.logger.info('two');
    second.close();

    expect(readFileSync(`${file}.1`, 'utf8')).toContain('one');
    expect(readFileSync(file, 'utf8')).toMatch(/two\n$/);
    expect(reopened).toBe(1);
  });

  it('is reopened within a moment while lines are being written', () => {
    const file = join(tempDir(), 'nodepool.log');
    const { logger, close } = createLogging({ destination: { file } });
    logger.info('one');
    passMoment();
    renameSync(file, `${file}.1`);

    while (!existsSync(file)) {
      logger.info('more');
      passMoment();
    }
    close();

    expect(messages(`${file}.1`).at(0)).toBe('one');
    expect(messages(file)).toContain('more');
  });

  it('that cannot be written causes a clear error', () => {
    const dir = tempDir({ file: '' });

    expect(() => createLogging({ destination: { file: join(dir, 'file', 'x.log') } })).toThrow(
      /log file .* cannot be written/,
    );
  });
});

describe('a log file on a full disk', () => {
  // Ends: LogNotWritten NoSpace
  it('is written again once space is available, including the lines logged meanwhile', () => {
    const dir = tempDir();
    const file = join(dir, 'nodepool.log');
    symlinkSync('/dev/full', file); // each write ends with ENOSPC
    const errors: unknown[] = [];
    const { logger, close, failures } = createLogging({
      destination: { file },
      onError: (error) => errors.push(error),
    });

    expect(failures()).toEqual([]);
    logger.info('one');
    passMoment();
    expect(failures()).toMatchObject([{ file, error: { code: 'ENOSPC' } }]);
    logger.info('two');
    passMoment();
    rmSync(file);
    expect(failures(), 'it is tried again for the answer').toEqual([]);
    logger.info('three');
    passMoment();

    expect(messages(file)).toEqual(['one', 'two', 'three']);
    expect(errors).toEqual([expect.objectContaining({ code: 'ENOSPC' })]);
    close();
  });

  // Ends: LogNotWritten NotWritable
  it('or at a place that cannot be written, is a failure until it can', () => {
    const dir = tempDir();
    const file = join(dir, 'nodepool.log');
    const { logger, close, failures } = createLogging({ destination: { file }, onError: () => undefined });
    rmSync(file);
    mkdirSync(file);
    logger.info('one');
    passMoment();
    expect(failures()).toMatchObject([{ file, error: { code: 'EISDIR' } }]);

    rmSync(file, { recursive: true });

    expect(failures()).toEqual([]);
    expect(messages(file)).toEqual(['one']);
    close();
  });

  it('bounds the buffer: drops whole lines, oldest first', () => {
    const dir = tempDir();
    const file = join(dir, 'nodepool.log');
    symlinkSync('/dev/full', file);
    const { logger, close } = createLogging({ destination: { file }, onError: () => {} });

    for (let turn = 0; turn < 30; turn++) {
      for (let line = 0; line < 100; line++) logger.info(`${turn * 100 + line} ${'x'.repeat(1_000)}`);
      passMoment();
    }
    rmSync(file);
    close();

    const kept = messages(file).map((message) => Number(message.split(' ')[0]));
    expect(kept.at(-1)).toBe(2_999);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => 3_000 - kept.length + i));
    expect(statSync(file).size).toBeLessThan(1.2 * 2 ** 20);
  });
});

describe('consecutive lines', () => {
  const open = () => {
    const file = join(tempDir(), 'nodepool.log');
    return { file, ...createLogging({ destination: { file } }) };
  };
  const count = (file: string) => readFileSync(file, 'utf8').split('\n').length - 1;

  it('are buffered for a moment', () => {
    const { file, logger, close } = open();

    logger.info('one');
    logger.info('two');
    const before = count(file);
    passMoment();

    expect([before, count(file)]).toEqual([0, 2]);
    close();
  });

  it('are written immediately with a warning or an error', () => {
    const { file, logger, close } = open();

    logger.info('one');
    logger.warn('two');
    const warned = count(file);
    logger.info('three');
    logger.error('four');

    expect([warned, count(file)]).toEqual([2, 4]);
    close();
  });

  it('are written immediately when the buffer is large', () => {
    const { file, logger, close } = open();

    for (let number = 0; number < 100; number++) logger.info('x'.repeat(1_000));

    expect(count(file)).toBeGreaterThan(50);
    close();
  });

  it('are appended after lines written by another process', () => {
    const file = join(tempDir(), 'nodepool.log');
    const { logger, close } = createLogging({ destination: { file } });
    appendFileSync(file, 'other\n');

    for (let number = 0; number < 100; number++) logger.info('line', { number });
    close();

    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines[0]).toBe('other');
    expect(lines.slice(1).map((line) => line.replace(/.*number=/, ''))).toEqual(
      Array.from({ length: 100 }, (_, i) => String(i)),
    );
  });
});
