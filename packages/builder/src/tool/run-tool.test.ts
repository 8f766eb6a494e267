import { describe, expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { VirtualClock } from '@nodepool/core/testing';
import { runTool, type ToolRun } from './run-tool.js';

async function run(script: string, changes: Partial<ToolRun> = {}) {
  const lines: string[] = [];
  const result = await runTool({
    ...{ command: ['sh', '-c', script], env: { PATH: process.env['PATH'] }, sandbox: [], timeoutMs: 60_000 },
    ...{
      clock: systemClock,
      signal: new AbortController().signal,
      onLine: (line) => void lines.push(line),
      ...changes,
    },
  });
  return { result, lines };
}

describe('a program', () => {
  it('passes on each line with its line end, including a last line without one', async () => {
    const { result, lines } = await run('echo one; printf two; exit 3');

    expect(result).toEqual({ ended: 'exit', code: 3 });
    expect(lines).toEqual(['one\n', 'two']);
  });

  it('has only the given environment', async () => {
    expect((await run('echo "$A-$HOME"', { env: { PATH: process.env['PATH'], A: 'a' } })).lines).toEqual(['a-\n']);
  });

  it('is reported as ended by a signal', async () => {
    expect((await run('kill -TERM $$')).result).toEqual({ ended: 'signal', signal: 'SIGTERM' });
  });

  it('that does not exist is reported as not started', async () => {
    const { result } = await run('', { command: ['/no/such/program'] });

    expect(result).toMatchObject({ ended: 'not-started', error: { code: 'ENOENT' } });
  });

  it('is blocked while a line is processed, so that output does not pile up', async () => {
    let active = 0;
    const { result } = await run('for i in 1 2 3 4 5; do echo $i; done', {
      async onLine() {
        expect(++active).toBe(1);
        await new Promise(setImmediate);
        active--;
      },
    });

    expect(result).toEqual({ ended: 'exit', code: 0 });
  });
});

describe('a program that hangs', () => {
  it('is killed at its timeout together with its child processes', async () => {
    const clock = new VirtualClock();
    const ended = run('sleep 600 & echo started; wait', {
      ...{ clock, timeoutMs: 5_000 },
      onLine: () => void clock.advance(5_000),
    });

    expect((await ended).result).toEqual({ ended: 'timeout' });
  });

  it('is killed by an abort, even by one before its start', async () => {
    const abort = new AbortController();
    const ended = run('echo started; sleep 600', { signal: abort.signal, onLine: () => abort.abort() });

    expect((await ended).result).toEqual({ ended: 'aborted' });
    expect((await run('sleep 600', { signal: AbortSignal.abort() })).result).toEqual({ ended: 'aborted' });
  });
});
