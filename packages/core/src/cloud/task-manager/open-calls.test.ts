import { delay } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { unansweredConditions, unansweredText } from './open-calls.js';
import { TaskManager, type CallOptions } from './task-manager.js';

const never = () => new Promise<void>(() => undefined);

function setUp(requestsPerSecond?: number) {
  const clock = new VirtualClock();
  const tasks = new TaskManager('sky', { clock, requestsPerSecond });
  const text = () => unansweredText(tasks.lateCalls, clock);
  return { clock, tasks, text };
}

it('a call without an answer is a condition after 20 s, that names it', async () => {
  const { clock, tasks, text } = setUp();
  const since = new Date(clock.now()).toISOString();
  void tasks.call('compute.GET.servers', never);
  void tasks.call('compute.POST.servers', never);
  await clock.advance(19_000);
  const before = text();

  await clock.advance(5_000);

  expect(before).toBeUndefined();
  expect(unansweredConditions('sky', text())).toMatchObject([
    {
      ...{ type: 'CallsUnanswered', name: 'sky', severity: 'error', reason: 'Timeout' },
      message: `the cloud has not answered 2 calls since ${since} (compute.GET.servers, compute.POST.servers)`,
    },
  ]);
});

it('a call that was given up stays one until another is answered, even with an error', async () => {
  const { clock, tasks, text } = setUp();
  const since = new Date(clock.now()).toISOString();
  const given = tasks.call('list', async () => {
    await delay(clock, 30_000);
    throw new Error('no answer');
  });
  given.catch(() => undefined);
  await clock.advance(40_000);
  const late = text();

  await tasks.call('list', () => Promise.reject(new Error('500'))).catch(() => undefined);

  expect([late, text()]).toEqual([`the cloud has not answered a call since ${since} (list)`, undefined]);
});

it.each<[string, number | undefined, CallOptions]>([
  ['waits for its rate', 0.001, {}],
  ['waits for its turn', undefined, { turn: never }],
  ['is a transfer', undefined, { isTransfer: true }],
])('a call that %s is none', async (_what, rate, options) => {
  const { clock, tasks, text } = setUp(rate);
  void tasks.call('first', () => Promise.resolve());
  void tasks.call('second', never, options);

  await clock.advance(60_000);

  expect(text()).toBeUndefined();
});
