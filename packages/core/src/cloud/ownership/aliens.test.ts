import { expect, it } from 'vitest';
import { DATABASE_ID_TAG, NODE_ID_TAG, type Resource } from '../../contract/instance.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { Aliens } from './aliens.js';

const resource = (id: string, databaseId?: string): Resource => ({
  ...{ type: 'instance', id },
  metadata: { [NODE_ID_TAG]: '0000000007', ...(databaseId !== undefined && { [DATABASE_ID_TAG]: databaseId }) },
});

function open() {
  const clock = new VirtualClock(1_000);
  const lines: string[] = [];
  const keep = (message: string) => void lines.push(message);
  const aliens = new Aliens({ provider: 'sky', clock, logger: { ...silentLogger, warn: keep, info: keep } });
  return { clock, lines, aliens, ids: () => aliens.all.map(({ id }) => id) };
}

it('reports results of the first search at once, later ones when found twice in a row', () => {
  const { aliens, ids } = open();

  aliens.saw([resource('a')]);
  expect(ids()).toEqual(['a']);
  aliens.saw([resource('a'), resource('b')]);
  expect(ids()).toEqual(['a']);
  aliens.saw([resource('a'), resource('b')]);
  expect(ids()).toEqual(['a', 'b']);
});

it('logs changes alone, and doubts the database if resources carry another id', () => {
  const { aliens, lines } = open();

  aliens.saw([resource('a', 'ffff')]);
  aliens.saw([resource('a', 'ffff')]);
  aliens.saw([]);

  expect(lines).toEqual([
    expect.stringMatching(/nodepool adopt sky"; does this service use the wrong database/),
    'All alien resources are gone',
  ]);
});

it('remembers when a resource was first found', async () => {
  const { aliens, clock } = open();
  aliens.saw([resource('a')]);
  const firstMs = clock.now();
  await clock.advance(60_000);
  aliens.saw([resource('a')]);

  expect(aliens.all).toMatchObject([{ id: 'a', nodeId: '0000000007', sinceMs: firstMs }]);
});
