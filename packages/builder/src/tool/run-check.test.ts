import { expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { runCheck } from './run-check.js';

const check = (script: string, changes: Partial<Parameters<typeof runCheck>[0]> = {}) =>
  runCheck({
    ...{ key: 'post-upload-hook', command: ['sh', '-c', script], sandbox: [], clock: systemClock, timeoutMs: 60_000 },
    ...{ env: { PATH: process.env['PATH'], MY_PASSWORD: 'very-secret' }, signal: new AbortController().signal },
    ...changes,
  });

it('accepts and keeps the output if the program exits with status 0', async () => {
  expect(await check('echo all is well')).toEqual({ said: 'all is well', refusal: undefined, hasRun: true });
});

it('refuses with the exit code and the masked output', async () => {
  const { refusal, said } = await check('echo "password $MY_PASSWORD"; exit 9');

  expect(refusal).toMatch(/^post-upload-hook "sh" ended with exit code 9; it said: password \*+$/);
  expect(said).not.toContain('very-secret');
});

it('keeps the end of a long output', async () => {
  const { said } = await check('i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done');

  expect(said.length).toBeLessThanOrEqual(2_000);
  expect(said).toMatch(/line 499$/);
});

it('reports a program that cannot start or was aborted as not run', async () => {
  expect(await check('', { command: ['/no/such/program'] })).toMatchObject({
    hasRun: false,
    refusal: expect.stringContaining('post-upload-hook "/no/such/program" cannot be run: ') as string,
  });
  expect(await check('sleep 600', { signal: AbortSignal.abort() })).toMatchObject({ hasRun: false });
});
