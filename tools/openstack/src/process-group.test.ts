import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ProcessGroup } from './process-group.js';

const env = { PATH: '/usr/bin:/bin' };
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'process-group-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const start = (script: string) =>
  new ProcessGroup({ name: 'test', command: ['/bin/sh', '-c', script], env, logFile: join(dir, 'log') });

it('stops a process with its children and keeps its output', async () => {
  const group = start('echo started; sleep 1000 & wait');
  await expect.poll(() => group.lastWords).toBe('started\n');
  expect(group.isRunning).toBe(true);

  await group.stop();

  expect(group.isRunning).toBe(false);
});

it('kills a process that ignores SIGTERM', async () => {
  const group = start("trap '' TERM; echo started; while :; do sleep 1; done");
  await expect.poll(() => group.lastWords).toBe('started\n');

  await group.stop(10);

  expect(group.isRunning).toBe(false);
});
