import { writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockCloudDir } from './lock.js';
import { makeTempDir } from '../../../test/temp-dir.js';

it('is free again when its owner gives it up', () => {
  const dir = makeTempDir();

  const unlock = lockCloudDir(dir);
  const held = readFileSync(join(dir, 'server.pid'), 'utf8');
  unlock?.();

  expect(held).toBe(String(process.pid));
  expect(lockCloudDir(dir)).toBeDefined();
});

it.each([
  ['a process that has ended', '4194303'],
  ['a process that is another program by now', '1'],
  ['no server, as a file cut short', ''],
])('is taken over from %s', (_what, pid) => {
  const dir = makeTempDir();
  writeFileSync(join(dir, 'server.pid'), pid);

  const unlock = lockCloudDir(dir);

  expect(unlock).toBeDefined();
  expect(readFileSync(join(dir, 'server.pid'), 'utf8')).toBe(String(process.pid));
});
