import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dictConfig } from '../../test/support/dict-config.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { memoryLogging } from '../../test/support/memory-logging.js';
import { createLogging } from './create-logging.js';

describe('a logging configuration', () => {
  it('in dict style sets levels, handlers, formats and propagation', () => {
    const dir = tempDir();
    const configFile = join(tempDir({ 'logging.yaml': dictConfig(dir) }), 'logging.yaml');
    const { logger, close, stdout } = memoryLogging({ configFile });

    logger.debug('quiet');
    logger.warn('loud');
    logger.child({}, 'zk').error('apart');
    close();

    expect(stdout()).toBe('WARNING |nodepool|loud\n');
    expect(readFileSync(join(dir, 'a.log'), 'utf8')).toBe('DEBUG   |nodepool|quiet\nWARNING |nodepool|loud\n');
    expect(readFileSync(join(dir, 'b.log'), 'utf8')).toBe(`${new Date().getFullYear()} apart\n`);
    expect(readFileSync(join(dir, 'c.log'), 'utf8')).toBe('quiet\nloud\n');
  });

  it('rotates a file at its maximum size and keeps `backupCount` old files', () => {
    const dir = tempDir({ 'b.log': 'long enough to be put aside\n' });
    const configFile = join(tempDir({ 'logging.yml': dictConfig(dir) }), 'logging.yml');
    for (let round = 0; round < 4; round++) {
      const { logger, close } = memoryLogging({ configFile });
      logger.child({}, 'zk').error(`round ${round}`);
      close();
    }

    const names = readdirSync(dir).filter((name) => name.startsWith('b.log'));
    expect(names.sort()).toEqual(['b.log', 'b.log.1', 'b.log.2']);
    expect(readFileSync(join(dir, 'b.log'), 'utf8')).toContain('round 3');
  });

  it.each([
    ['missing.yaml', undefined, /missing\.yaml cannot be read: ENOENT/],
    ['a.yaml', 'handlers: [', /a\.yaml:1:\d+: YAML parsing failed/],
    ['a.json', '{"version": 2}', /version: expected 1/],
    [
      'a.yaml',
      'version: 1\nhandlers: {h: {class: logging.handlers.SMTPHandler}}',
      /handlers\.h: class "logging\.handlers\.SMTPHandler" is not supported/,
    ],
    [
      'a.yaml',
      'version: 1\nroot: {handlers: [conosle]}\nhandlers: {console: {class: logging.StreamHandler}}',
      /did you mean "console"/,
    ],
    [
      'a.yaml',
      'version: 1\nformatters: {f: {format: "%(mesage)s"}}',
      /formatters\.f: log format: unknown name %\(mesage\)s/,
    ],
    ['a.yaml', 'version: 1\nroot: {level: LOUD}', /root: level "LOUD" is not known/],
    ['a.conf', '[loggers]\nkeys=root\n', /the section \[formatters\] is missing/],
  ])('%s with a fault says which', (name, text, expected) => {
    const configFile = join(tempDir(text === undefined ? {} : { [name]: text }), name);

    expect(() => createLogging({ configFile })).toThrow(expected);
    expect(existsSync(configFile)).toBe(text !== undefined);
  });
});
