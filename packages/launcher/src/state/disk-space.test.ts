import { execFile } from 'node:child_process';
import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { DiskSpace } from './disk-space.js';

const MIB = 1024 * 1024;
const run = promisify(execFile);

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

// Ends: NoSpace Full, NoSpace Scarce
it('reports it until space is free again', async () => {
  const disk = await mkdtemp(join(tmpdir(), 'nodepool-disk-'));
  await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]);
  onTestFinished(async () => {
    await run('umount', ['--lazy', disk]);
    await rmdir(disk);
  });
  const space = new DiskSpace(disk, 'nl01', { scarceBytes: 4 * MIB, fullBytes: MIB });
  const found = async (files: Record<string, number>) => {
    for (const [name, size] of Object.entries(files)) await writeFile(join(disk, name), Buffer.alloc(size));
    await space.check();
    return space.conditions().map(({ reason, nextStep }) => `${reason}: ${nextStep}`);
  };

  expect(await found({})).toEqual([]);
  expect(await found({ first: 5 * MIB })).toEqual([`Scarce: free space on the disk of ${disk}`]);
  expect(await found({ second: 2.5 * MIB })).toEqual([`Full: free space on the disk of ${disk}`]);
  await rm(join(disk, 'second'));
  await rm(join(disk, 'first'));
  expect(await found({})).toEqual([]);
});
