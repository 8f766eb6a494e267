import { beforeEach, describe, expect, it } from 'vitest';
import { call, node, World } from '../../../test/support/world.js';
import { controlOperations } from './controls.js';

let world: World;

beforeEach(() => {
  world = new World();
});

const give = (kind: string, name: string, body: Record<string, string | number>) =>
  call(controlOperations(world.sources), 'giveControl', { path: { kind, name }, body, actor: 'alice' });
const remove = (kind: string, name: string) =>
  call(controlOperations(world.sources), 'removeControl', { path: { kind, name } });

it('stores a command in the name of the token, with its end, and removes it', async () => {
  const given = await give('pool', 'rack/main', { mode: 'limit', limit: 0, seconds: 60, reason: 'works' });

  expect(given).toEqual({
    ...{ kind: 'pool', name: 'rack/main', mode: 'limit', limit: 0, owner: 'alice', reason: 'works' },
    ...{ created_time: 1_600_000_000, end_time: 1_600_000_060 },
  });
  expect(await remove('pool', 'rack/main')).toEqual({ kind: 'pool', name: 'rack/main' });
  await expect(remove('pool', 'rack/main')).rejects.toMatchObject({ status: 404, code: 'unknown-control' });
});

it('replaces an earlier command on the same subject', async () => {
  await give('provider', 'rack', { mode: 'pause' });

  expect(await give('provider', 'rack', { mode: 'drain' })).toMatchObject({ mode: 'drain', end_time: null });
});

describe('a command is refused', () => {
  it('to hold a node that is lent to a lease', async () => {
    world.nodes.set('1', node('1', { state: 'hold', userData: { lease: 'abc' } }));

    await expect(give('node', '1', { mode: 'hold', seconds: 60 })).rejects.toMatchObject({ code: 'leased' });
  });

  it.each([
    ['a limit without a number', 'provider', 'rack', { mode: 'limit' }, 'bad-limit'],
    ['a number without a limit', 'provider', 'rack', { mode: 'pause', limit: 3 }, 'bad-limit'],
    ['a pool without its provider', 'pool', 'main', { mode: 'pause' }, 'bad-name'],
    ['a node to pause', 'node', '0000000001', { mode: 'pause' }, 'bad-mode'],
    ['a provider to hold', 'provider', 'rack', { mode: 'hold', seconds: 60 }, 'bad-mode'],
    ['a hold without an end', 'node', '0000000001', { mode: 'hold' }, 'bad-end'],
    ['an unknown kind', 'zone', 'a', { mode: 'pause' }, 'unknown-kind'],
  ])('for %s', async (_what, kind, name, body, code) => {
    await expect(give(kind, name, body as Record<string, string | number>)).rejects.toMatchObject({ code });
  });
});
