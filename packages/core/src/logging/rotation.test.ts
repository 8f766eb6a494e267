import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dictConfig } from '../../test/support/dict-config.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { memoryLogging } from '../../test/support/memory-logging.js';

describe('a file rotated by time', () => {
  it('is renamed at midnight with the date of its lines', () => {
    const dir = tempDir();
    const configFile = join(tempDir({ 'logging.yaml': dictConfig(dir) }), 'logging.yaml');
    let nowMs = new Date(2026, 10, 21, 23, 59).getTime();
    const clock = { now: () => nowMs, setTimer: () => () => {} };
    writeFileSync(join(dir, 'c.log'), 'before\n');
    utimesSync(join(dir, 'c.log'), nowMs / 1000, nowMs / 1000);
    const first = memoryLogging({ configFile, clock });
    first.logger.warn('evening');
    first.close();
    utimesSync(join(dir, 'c.log'), nowMs / 1000, nowMs / 1000);

    const second = memoryLogging({ configFile, clock });
    nowMs += 120_000;
    second.logger.warn('night');
    second.close();

    expect(readFileSync(join(dir, 'c.log.2026-11-21'), 'utf8')).toBe('before\nevening\n');
    expect(readFileSync(join(dir, 'c.log'), 'utf8')).toBe('night\n');
  });
});
