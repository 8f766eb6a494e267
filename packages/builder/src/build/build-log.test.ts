import { mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SecretMask } from '../tool/secrets.js';
import { BuildLog, removeOldLogs } from './build-log.js';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'build-log-'));
});

afterEach(() => rm(dir, { recursive: true }));

async function newLog() {
  const path = join(dir, 'log');
  const clock = new VirtualClock();
  const log = await BuildLog.open(path, { mask: new SecretMask({}), logger: silentLogger, clock });
  return { log, clock, written: () => readFile(path, 'utf8') };
}

describe('the log of a build', () => {
  it('is not written through a link in its place', async () => {
    await symlink(join(dir, 'theirs'), join(dir, 'log'));

    await expect(newLog()).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(readFile(join(dir, 'theirs'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is written in batches, a moment after the tool has printed the lines', async () => {
    const { log, clock, written } = await newLog();

    for (const line of ['a\n', 'b\n', 'c\n']) await log.write(line);
    expect(await written()).toBe('');
    await clock.advance(100);

    await vi.waitFor(async () => expect(await written()).toBe('a\nb\nc\n'), { timeout: 50_000, interval: 5 });
    await log.close();
  });

  it('is written at once when large, and completely at the end', async () => {
    const { log, written } = await newLog();
    const line = `${'x'.repeat(40_000)}\n`;

    for (let i = 0; i < 2; i++) await log.write(line);
    expect(await written()).toBe(line + line);
    await log.write('last');
    await log.conclude('Exit code: 0\n');
    await log.close();

    expect((await written()).slice(-17)).toBe('lastExit code: 0\n');
  });
});

it.each([
  [3, [3, 4]],
  [1, []],
  [0, []],
  [-1, [1, 2, 3, 4]],
])('with build-log-retention %i keeps as many logs, with the one of the next build', async (retention, kept) => {
  const nameOf = (number: number, image = 'debian') => `${image}-${String(number).repeat(32)}.log`;
  for (const number of [1, 2, 3, 4]) {
    await writeFile(join(dir, nameOf(number)), '');
    await utimes(join(dir, nameOf(number)), number, number);
  }
  await writeFile(join(dir, nameOf(1, 'debian-12')), '');

  await removeOldLogs(dir, 'debian', retention);

  expect((await readdir(dir)).sort()).toEqual([nameOf(1, 'debian-12'), ...kept.map((number) => nameOf(number))].sort());
});
