import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/support/temp-dir.js';
import { createLogging } from './create-logging.js';

describe('a date format', () => {
  it.each([
    ['%Y-%m-%dT%H:%M:%S%z', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} x\n$/],
    ['%d/%b/%y %I:%M %p', /^\d\d\/[A-Z][a-z]{2}\/\d\d \d\d:\d\d [AP]M x\n$/],
    ['at %H hours, 100%%', /^at \d\d hours, 100% x\n$/],
  ])('%s is understood', (datefmt, expected) => {
    const text = `version: 1
formatters: {f: {format: '%(asctime)s %(message)s', datefmt: '${datefmt}'}}
handlers: {out: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: f}}
root: {level: INFO, handlers: [out]}
`;
    const stdout = new PassThrough();
    const configFile = join(tempDir({ 'logging.yaml': text }), 'logging.yaml');
    const { logger } = createLogging({ configFile, streams: { stdout, stderr: stdout } });

    logger.info('x');

    expect(String(stdout.read())).toMatch(expected);
  });
});
