import { afterEach, describe, expect, it } from 'vitest';
import { delay } from '@nodepool/zk-protocol';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { RateLimitedError } from '../../contract/errors.js';
import { TaskManager, type TaskManagerOptions } from './task-manager.js';
import { Task } from './task.js';

let clock = new VirtualClock(0);
const counted: string[] = [];

function manager(options: TaskManagerOptions = {}): TaskManager {
  const apiCall = (_provider: string, call: string, ms: number, outcome: string) =>
    counted.push(`${call} ${ms} ${outcome}`);
  return new TaskManager('cloud', { clock, random: () => 0, metrics: { apiCall }, ...options });
}

afterEach(() => {
  expect(clock.pendingTimers).toBe(0);
  clock = new VirtualClock(0);
  counted.length = 0;
});

class Sum extends Task<{ a: number; b: number }, number> {
  override main(tasks: TaskManager): Promise<number> {
    return tasks.rateLimit(async () => {
      await delay(clock, 100);
      if (this.args.b < 0) throw new Error('negative');
      return this.args.a + this.args.b;
    });
  }
}

describe('TaskManager', () => {
  it('spaces calls by the rate and counts each', async () => {
    const tasks = manager({ requestsPerSecond: 2 });
    const starts: number[] = [];
    const call = () =>
      tasks.call('compute.GET.servers', () => {
        starts.push(clock.now());
        return Promise.resolve();
      });

    await clock.run(Promise.all([call(), call(), call()]));

    expect(starts).toEqual([0, 500, 1_000]);
    expect(counted).toEqual(Array.from({ length: 3 }, () => 'compute.GET.servers 0 ok'));
  });

  it('limits concurrent calls, first come, first served', async () => {
    const tasks = manager({ maxParallel: 2 });
    const ends: string[] = [];
    const call = (name: string) =>
      tasks.call(name, async () => {
        await delay(clock, 10);
        ends.push(`${name} ${clock.now()}`);
      });

    await clock.run(Promise.all(['a', 'b', 'c'].map(call)));

    expect(ends).toEqual(['a 10', 'b 10', 'c 20']);
  });

  it('shares a list among callers before it starts, and makes one more for later ones', async () => {
    const tasks = manager();
    let lists = 0;
    const list = () =>
      tasks.list('list', async () => {
        const number = ++lists;
        await delay(clock, 10);
        return number;
      });

    const first = Promise.all([list(), list(), list()]);
    await clock.advance(5);
    const second = Promise.all([list(), list()]);

    expect(await clock.run(first)).toEqual([1, 1, 1]);
    expect(await clock.run(second)).toEqual([2, 2]);
  });

  it('gives up a shared list when no caller waits for it any more', async () => {
    const tasks = manager();
    const abort = new AbortController();
    let ended = false;
    const asked = tasks.list(
      'list',
      async (signal) => {
        await delay(clock, 10_000, signal).finally(() => (ended = true));
      },
      { signal: abort.signal },
    );
    await clock.settle();

    abort.abort(new Error('not needed'));

    await expect(asked).rejects.toThrow('not needed');
    await tasks.join();
    expect(ended).toBe(true);
  });

  it('repeats a refused call after the requested pause, and slows down until calls succeed', async () => {
    const tasks = manager({ requestsPerSecond: 10 });
    const starts: number[] = [];
    const call = () =>
      tasks.call('create', () => {
        starts.push(clock.now());
        return starts.length === 1
          ? Promise.reject(new RateLimitedError('slow down', { retryAfterMs: 2_000 }))
          : Promise.resolve();
      });

    await clock.run(call());
    for (let i = 0; i < 20; i++) await clock.run(call());

    expect(starts[1]).toBe(2_000);
    expect((starts[2] ?? 0) - (starts[1] ?? 0)).toBeGreaterThan(150);
    expect((starts[20] ?? 0) - (starts[19] ?? 0)).toBeCloseTo(100);
    expect(counted[0]).toBe('create 0 error.network');
  });

  it('makes other calls while refused ones wait, however many of these there are', async () => {
    const tasks = manager({ requestsPerSecond: 10, maxParallel: 2 });
    const begun: string[] = [];
    const call = (name: string) =>
      tasks.call(name, () => {
        begun.push(`${name} ${clock.now()}`);
        const isEarly = name === 'create' && clock.now() < 1_000;
        return isEarly ? Promise.reject(new RateLimitedError('429', { retryAfterMs: 60_000 })) : Promise.resolve();
      });

    const creates = Promise.all(Array.from({ length: 5 }, () => call('create')));
    await clock.advance(10_000);
    await clock.run(call('delete'));
    const early = [...begun];
    await clock.run(creates);

    expect(early).toEqual(['create 0', 'delete 10000']);
    expect(begun).toHaveLength(7);
    expect(clock.now()).toBeGreaterThan(60_000);
    expect(clock.now()).toBeLessThan(62_000);
  });

  it('hands a refusal on when it lasts for too long', async () => {
    const tasks = manager({ maxRepeats: 2 });
    let calls = 0;
    const call = tasks.call('create', () => {
      calls++;
      return Promise.reject(new RateLimitedError('slow down'));
    });

    await expect(clock.run(call)).rejects.toThrow('slow down');
    expect(calls).toBe(3);
  });

  it('runs tasks one after another, at the rate measured from the end of the one before', async () => {
    const tasks = manager({ requestsPerSecond: 1, measuredFrom: 'end' });
    const submitted = [
      tasks.submitTask(new Sum({ a: 1, b: 2 })),
      tasks.submitTask(new Sum({ a: 1, b: -1 })),
      tasks.submitTask(new Sum({ a: 3, b: 4 })),
    ];

    const results = await clock.run(Promise.allSettled(submitted.map((task) => task.wait())));

    expect(results).toMatchObject([{ value: 3 }, { reason: { message: 'negative' } }, { value: 7 }]);
    expect(clock.now()).toBe(2_300);
    expect(counted).toEqual(['Sum 100 ok', 'Sum 1100 error.unknown', 'Sum 1100 ok']);
  });

  it('runs other tasks while refused ones wait', async () => {
    const tasks = manager();
    let refusals = 0;
    const refusing = (retryAfterMs: number) => () => {
      if (refusals++ > 0) return Promise.resolve();
      return Promise.reject(new RateLimitedError('429', { retryAfterMs }));
    };
    class Create extends Task<object, number> {
      override async main(own: TaskManager): Promise<number> {
        await own.rateLimit(refusing(60_000)).catch(() => own.rateLimit(refusing(0)));
        return clock.now();
      }
    }
    const first = tasks.submitTask(new Create({}));
    const second = tasks.submitTask(new Create({}));
    const sum = tasks.submitTask(new Sum({ a: 1, b: 2 }));

    expect(await clock.run(sum.wait())).toBe(3);
    expect(clock.now()).toBe(100);
    await expect(first.wait()).rejects.toThrow('not asked, as the cloud refuses such calls for another 60 s');
    expect(tasks.pauses).toMatchObject([{ call: 'Create', untilMs: 60_000, message: '429' }]);
    expect(await clock.run(second.wait())).toBe(60_000);
  });

  it('finishes accepted calls when stopped, and accepts no more', async () => {
    const tasks = manager();
    const before = tasks.submitTask(new Sum({ a: 1, b: 2 }));

    tasks.stop();
    const after = tasks.submitTask(new Sum({ a: 1, b: 2 }));
    await clock.run(tasks.join());

    expect(await before.wait()).toBe(3);
    await expect(after.wait()).rejects.toThrow('stopped');
    await expect(tasks.call('x', () => Promise.resolve())).rejects.toThrow('stopped');
  });
});

/** Never ends, and remembers what it was told. */
class Hung extends Task<{ signals: AbortSignal[] }, void> {
  override main(_tasks: TaskManager, signal: AbortSignal): Promise<void> {
    this.args.signals.push(signal);
    return new Promise(() => undefined);
  }
}

describe('a task that hangs', () => {
  it('fails after five minutes, is aborted, and the next one runs', async () => {
    const tasks = manager();
    const signals: AbortSignal[] = [];
    const hung = tasks.submitTask(new Hung({ signals }));
    const next = tasks.submitTask(new Sum({ a: 1, b: 2 }));
    void hung.wait().catch(() => undefined);

    expect(await clock.run(next.wait())).toBe(3);

    expect(clock.now()).toBe(300_100);
    await expect(hung.wait()).rejects.toMatchObject({
      code: 'NODEPOOL_PROVIDER_UNAVAILABLE',
      message: expect.stringMatching(/^Hung of "cloud" has not ended within 300 s; it may have taken effect/) as string,
    });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(counted).toEqual(['Hung 300000 error.network', 'Sum 100 ok']);
  });

  it('fails after the time its driver gives it', async () => {
    const tasks = manager({ taskTimeoutMs: 20_000 });
    const hung = tasks.submitTask(new Hung({ signals: [] }));

    await expect(clock.run(hung.wait())).rejects.toThrow('within 20 s');
  });

  it('ends when no caller wants it any more, whether it runs or waits', async () => {
    const tasks = manager();
    const signals: AbortSignal[] = [];
    const abort = new AbortController();
    const both = [1, 2].map(() => tasks.submitTask(new Hung({ signals }), { signal: abort.signal }).wait());
    const next = tasks.submitTask(new Sum({ a: 1, b: 2 }));
    await clock.settle();

    abort.abort(new Error('the launch was given up'));

    expect(await Promise.allSettled(both)).toMatchObject([1, 2].map(() => ({ reason: abort.signal.reason as Error })));
    expect(await clock.run(next.wait())).toBe(3);
    expect(signals).toHaveLength(1);
  });

  it('does not keep its task manager from ending', async () => {
    const tasks = manager();
    const left = [1, 2, 3].map(() => tasks.submitTask(new Hung({ signals: [] })).wait());
    const outcomes = Promise.allSettled(left);

    tasks.stop();
    await clock.run(tasks.join());

    expect(clock.now()).toBe(60_000);
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});
