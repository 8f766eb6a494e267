import { expect, it } from 'vitest';
import { closing, until } from '../../test/support/clients.js';
import { systemClock } from '../base/clock.js';
import { connectInMemory, perfectConditions } from '../server/memory/memory-link.js';
import { MemoryServer } from '../server/memory/memory-server.js';
import { LockQueue } from './lock-queue.js';

const ROOT = '/lock';
const never = new AbortController().signal;

function queueOn(server: MemoryServer, replyDelayMs = () => 0) {
  const { zk, link } = connectInMemory(server, { conditions: { ...perfectConditions, replyDelayMs } });
  closing(zk);
  const gone: string[] = [];
  const options = {
    identifier: 'me',
    ephemeral: true,
    clock: systemClock,
    onEntryGone: (path: string) => gone.push(path),
  };
  return { zk, link, gone, queue: new LockQueue(zk, ROOT, options) };
}

it('enters in order, and leaves no entry when it does not block', async () => {
  const server = new MemoryServer(systemClock);
  const [first, second] = [queueOn(server), queueOn(server)];

  expect(await first.queue.enter(true, never)).toBe(true);
  expect(await second.queue.enter(false, never)).toBe(false);
  expect(second.queue.entryPath).toBeUndefined();
  expect(await first.zk.getChildren(ROOT)).toHaveLength(1);

  const entered = second.queue.enter(true, never);
  await until(() => second.queue.entryPath !== undefined);
  await first.queue.leave();
  expect(await entered).toBe(true);
});

it('finds its entry after the reply to the create was lost, instead of a second create', async () => {
  const created: string[] = [];
  const server = new MemoryServer(systemClock, ({ changes }) => {
    for (const change of changes) if (change.change === 'create') created.push(change.path);
  });
  let delayMs = 0;
  const { zk, link, queue } = queueOn(server, () => delayMs);
  await zk.whenConnected();
  await zk.create(ROOT);
  const isEntry = (path: string) => path.startsWith(`${ROOT}/`);

  delayMs = 60_000;
  const entered = queue.enter(true, never);
  await until(() => created.some(isEntry));
  delayMs = 0;
  link.break();

  expect(await entered).toBe(true);
  expect(created.filter(isEntry)).toEqual([queue.entryPath]);
});

it('queues again when its entry is deleted while it waits', async () => {
  const server = new MemoryServer(systemClock);
  const [first, second] = [queueOn(server), queueOn(server)];
  await first.queue.enter(true, never);
  const entered = second.queue.enter(true, never);
  await until(() => second.queue.entryPath !== undefined);
  const { entryPath = '' } = second.queue;

  await first.zk.delete(entryPath);
  await until(() => second.queue.entryPath !== entryPath && second.queue.entryPath !== undefined);
  await first.queue.leave();

  expect(await entered).toBe(true);
  expect(second.gone).toContain(entryPath);
});

it('queues again when its entry is deleted just before it begins to wait', async () => {
  const server = new MemoryServer(systemClock);
  const [first, second] = [queueOn(server), queueOn(server, () => 400)];
  await first.queue.enter(true, never);
  const entered = second.queue.enter(true, never);
  await until(() => second.queue.entryPath !== undefined);
  const { entryPath = '' } = second.queue;

  await first.zk.delete(entryPath);
  second.link.hold(500); // the replies that show the entry arrive together with its deletion
  await until(() => second.queue.entryPath !== entryPath && second.queue.entryPath !== undefined);
  await first.queue.leave();

  expect(await entered).toBe(true);
});

it('leaves no entry when its new one has the name of the old one, in a directory that was made again', async () => {
  const created: string[] = [];
  const server = new MemoryServer(systemClock, ({ changes }) => {
    for (const change of changes) if (change.change === 'create') created.push(change.path);
  });
  const [first, second] = [queueOn(server), queueOn(server)];
  await first.queue.enter(true, never);
  const end = new AbortController();
  const entered = second.queue.enter(true, end.signal);
  await until(() => second.queue.entryPath !== undefined);
  const { entryPath = '' } = second.queue;
  for (let i = 0; i < 5; i++) await second.zk.exists(ROOT); // it waits behind the first

  await first.zk.multi([
    { op: 'delete', path: first.queue.entryPath ?? '' },
    { op: 'delete', path: entryPath },
    { op: 'delete', path: ROOT },
    { op: 'create', path: ROOT },
    { op: 'create', path: `${ROOT}/other__lock__`, sequential: true },
  ]);
  await until(() => created.filter((path) => path === entryPath).length === 2);
  for (let i = 0; i < 5; i++) await second.zk.exists(ROOT); // it waits again
  end.abort(new Error('given up'));
  await expect(entered).rejects.toThrow('given up');

  expect(await first.zk.getChildren(ROOT)).toEqual(['other__lock__0000000000']);
});

it('removes its entry when the wait is aborted', async () => {
  const server = new MemoryServer(systemClock);
  const [first, second] = [queueOn(server), queueOn(server)];
  await first.queue.enter(true, never);
  const stop = new AbortController();
  const entered = second.queue.enter(true, stop.signal);
  await until(() => second.queue.entryPath !== undefined);

  stop.abort(new Error('stop waiting'));

  await expect(entered).rejects.toThrow('stop waiting');
  expect(await first.zk.getChildren(ROOT)).toHaveLength(1);
});

it('leaves nothing to remove when it never entered', async () => {
  const { queue, zk } = queueOn(new MemoryServer(systemClock));
  await zk.whenConnected();
  const { requests } = zk.counters;

  await queue.leave();

  expect(zk.counters.requests).toBe(requests);
});
