import { expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { SharedScans } from './shared-scans.js';

function world() {
  const clock = new VirtualClock();
  const answers: { resolve: (keys: string[]) => void; reject: (error: Error) => void }[] = [];
  const scans = new SharedScans(clock, ({ onFailure }) => {
    onFailure?.(new Error('connection refused'));
    return new Promise((resolve, reject) => answers.push({ resolve, reject }));
  });
  const read = (user: string, host = 'h1') =>
    scans.read(user, { host, port: 22, connectionType: 'ssh', timeoutMs: 5_000 });
  return { clock, answers, read };
}

it('all users of a host share a scan, and take what another has just read', async () => {
  const { clock, answers, read } = world();

  const first = ['a', 'b', 'c'].map((user) => read(user));
  answers[0]?.resolve(['KEY']);
  await expect(Promise.all(first)).resolves.toEqual([['KEY'], ['KEY'], ['KEY']]);
  await clock.advance(1_000);
  await expect(read('d')).resolves.toEqual(['KEY']);
  await clock.advance(1);
  void read('e');
  void read('a', 'h2');

  expect(answers).toHaveLength(3);
});

it('a check never takes what it has seen before, nor a failure of another', async () => {
  const { answers, read } = world();

  const first = read('a');
  answers[0]?.resolve(['OLD']);
  await first;
  const second = read('a');
  const joined = read('b');
  answers[1]?.reject(new Error('timeout'));
  await expect(second).rejects.toThrow('timeout');
  await expect(joined).rejects.toThrow('timeout');
  void read('b');

  expect(answers).toHaveLength(3);
});
