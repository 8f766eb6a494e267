import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CpuProfiler } from './cpu-profile.js';

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-profile-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

it('records between two calls and writes the profile for its owner alone', async () => {
  const directory = await makeDirectory();
  const profiler = new CpuProfiler('nodepool-test', [directory]);

  expect(await profiler.toggle(NOW_MS)).toBeUndefined();
  expect(profiler.running).toBe(true);
  const file = (await profiler.toggle(NOW_MS)) ?? expect.fail('no file');

  expect(basename(file)).toBe(`nodepool-test-${process.pid}-2026-01-02T03-04-05-006Z.cpuprofile`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, 'utf8'))).toHaveProperty('nodes');
  expect(profiler.running).toBe(false);
});

it('writes to the first directory that exists', async () => {
  const directory = await makeDirectory();
  const profiler = new CpuProfiler('nodepool-test', ['/no/such/directory', directory]);
  await profiler.toggle(NOW_MS);
  await profiler.toggle(NOW_MS);

  expect(await readdir(directory)).toHaveLength(1);
});

it('fails without a writable directory, and can record again afterwards', async () => {
  const profiler = new CpuProfiler('nodepool-test', ['/no/such/directory']);
  await profiler.toggle(NOW_MS);

  await expect(profiler.toggle(NOW_MS)).rejects.toThrow(/\/no\/such\/directory/);
  expect(await profiler.toggle(NOW_MS)).toBeUndefined();
  await expect(profiler.toggle(NOW_MS)).rejects.toThrow();
});
