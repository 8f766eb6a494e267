import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { DiskSpace } from './disk-space.js';

it.each([
  [{ scarceBytes: 0, fullBytes: 0 }, []],
  [{ scarceBytes: Infinity, fullBytes: 0 }, ['warning NoSpace Scarce']],
  [{ scarceBytes: Infinity, fullBytes: Infinity }, ['error NoSpace Full']],
])('reports how full the disk is: %j', async (limits, expected) => {
  const space = new DiskSpace(tmpdir(), 'nl01', limits);

  await space.check();

  expect(space.conditions().map(({ severity, type, reason }) => `${severity} ${type} ${reason}`)).toEqual(expected);
});

it('reports nothing for a directory that does not exist', async () => {
  const space = new DiskSpace('/no/such/directory', 'nl01', { scarceBytes: Infinity, fullBytes: 0 });

  await space.check();

  expect(space.conditions()).toEqual([]);
});
