import { describe, expect, it } from 'vitest';
import { ScanQueue } from './scan-queue.js';

function gate(): { promise: Promise<void>; open: () => void } {
  let open = () => {};
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}

describe('ScanQueue', () => {
  it('runs no more tasks at a time than its limit, first come first served', async () => {
    const queue = new ScanQueue(2);
    const gates = [gate(), gate(), gate(), gate()];
    const started: number[] = [];
    const runs = gates.map((g, i) => queue.run(() => (started.push(i), g.promise)));

    expect([queue.active, queue.waiting, started]).toEqual([2, 2, [0, 1]]);
    gates[1]?.open();
    await runs[1];
    expect(started).toEqual([0, 1, 2]);
    for (const g of gates) g.open();
    await Promise.all(runs);

    expect([queue.active, queue.waiting, started]).toEqual([0, 0, [0, 1, 2, 3]]);
  });

  it('continues after a task that failed', async () => {
    const queue = new ScanQueue(1);
    const failing = queue.run(() => Promise.reject(new Error('no')));

    const next = queue.run(() => Promise.resolve('yes'));

    await expect(failing).rejects.toThrow('no');
    await expect(next).resolves.toBe('yes');
  });

  it('drops a waiting task that is aborted', async () => {
    const queue = new ScanQueue(1);
    const first = gate();
    const running = queue.run(() => first.promise);
    const controller = new AbortController();
    const aborted = queue.run(() => Promise.resolve('never'), controller.signal);

    controller.abort(new Error('stopping'));

    await expect(aborted).rejects.toThrow('stopping');
    expect(queue.waiting).toBe(0);
    first.open();
    await running;
    expect(queue.active).toBe(0);
  });
});
