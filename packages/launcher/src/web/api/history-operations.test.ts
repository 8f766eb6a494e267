import { beforeEach, describe, expect, it } from 'vitest';
import type { ComponentRecord } from '@nodepool/zk-protocol';
import { pastEvent } from '@nodepool/history';
import { call, pool, World } from '../../../test/support/world.js';
import { historyOperations } from './history-operations.js';

const ID = '200-0000000001';
const facts = { createdMs: 1_000, labels: ['small'], requestor: 'zuul', tenant: null };

let world: World;

beforeEach(() => {
  world = new World();
});

describe('a page of the history', () => {
  const page = (name: string, query: Record<string, string> = {}) =>
    call(historyOperations(world.sources), 'getHistoryPage', { path: { page: name }, query });

  it('is read for a time, from the first page or after a cursor', async () => {
    const asked: unknown[] = [];
    Object.assign(world.history, {
      page: (query: unknown) => {
        asked.push(query);
        return Promise.resolve({ baseMs: 5_000, lines: ['a'], next: undefined });
      },
    });
    const found = await page('first', { since: '2', until: '3' });
    await page('1000-ab@7');

    expect(found).toEqual({ launcher: 'nl01', base_time: 5, lines: ['a'], next: null });
    expect(asked).toEqual([
      { sinceMs: 2_000, untilMs: 3_000, after: undefined },
      { sinceMs: 0, untilMs: Infinity, after: '1000-ab@7' },
    ]);
  });

  it('is refused for a time that is no number', async () => {
    for (const since of ['yesterday', '0x10', '1e3', ''])
      await expect(page('first', { since })).rejects.toMatchObject({ status: 400, code: 'bad-time' });
  });

  it('is refused while eight others are in progress', async () => {
    let finish = () => {};
    const blocked = new Promise<void>((resolve) => (finish = resolve));
    Object.assign(world.history, {
      page: () => blocked.then(() => ({ baseMs: 0, lines: [], next: undefined })),
    });
    const operations = historyOperations(world.sources);
    const read = () => call(operations, 'getHistoryPage', { path: { page: 'first' } });
    const reading = Array.from({ length: 8 }, read);

    await expect(read()).rejects.toMatchObject({ status: 429, code: 'busy' });
    finish();
    await Promise.all(reading);
    expect(await read()).toMatchObject({ lines: [] });
  });
});

describe('a timeline', () => {
  const timeline = () => call(historyOperations(world.sources), 'getRequestTimeline', { path: { id: ID } });
  const launcher = (webUrl: string): ComponentRecord =>
    ({ ...pool(), kind: 'launcher', launcherId: undefined, webUrl }) as unknown as ComponentRecord;

  it('is built from the history of this launcher, which is not asked over the network', async () => {
    world.components = [pool(), launcher('http://nl01/')];
    Object.assign(world.history, {
      read: (id: string) =>
        Promise.resolve([
          {
            ...{ run: 'a', heardMs: 0, isRunning: true },
            lines: [{ kind: 'request', id, facts, events: [pastEvent(1_000, 'taken', 'rack/main')] }],
          },
        ]),
    });

    expect(await timeline()).toMatchObject({ id: ID, state: 'waiting', labels: ['small'], silent: [] });
  });

  it('is made once for all who ask at the same time', async () => {
    let reads = 0;
    const lines = [{ kind: 'request', id: ID, facts, events: [pastEvent(1_000, 'taken', 'rack/main')] }];
    Object.assign(world.history, {
      read: () =>
        Promise.resolve([{ ...{ run: 'a', heardMs: 0, isRunning: true }, lines: reads++ === 0 ? lines : [] }]),
    });
    world.components = [launcher('http://127.0.0.1:1/')];
    const operations = historyOperations(world.sources);
    const ask = () => call(operations, 'getRequestTimeline', { path: { id: ID } });

    const [first, second] = await Promise.all([ask(), ask()]);

    expect(first).toMatchObject({ id: ID, state: 'waiting' });
    expect([second, reads]).toEqual([first, 1]);
  });

  it('fails with 404 and the number of launchers that did not answer', async () => {
    await expect(timeline()).rejects.toMatchObject({
      status: 404,
      message: expect.not.stringContaining('launchers') as string,
    });
    world.components = [launcher('http://127.0.0.1:1/')];
    await expect(timeline()).rejects.toMatchObject({
      message: expect.stringContaining('1 launchers did not answer') as string,
    });
  });
});
