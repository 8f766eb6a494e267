import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newControl } from '@nodepool/zk-protocol';
import type { ApiEvent } from '@nodepool/daemon';
import { node, OWN_POOL, request, World } from '../../../test/support/world.js';
import { followChanges } from './changes.js';

let world: World;
let events: ApiEvent[];
let end: () => void;

beforeEach(() => {
  world = new World();
  events = [];
  world.poolStatus = [{ launcherId: OWN_POOL } as World['poolStatus'][number]];
  end = followChanges(world.sources, (event) => events.push(event));
});
afterEach(() => end());

const seen = () => events.map(({ type, id, notice }) => [type, id, notice]);

describe('notices of failed records', () => {
  it('are sent by the launcher whose pool failed, once', () => {
    const [own, other] = [node('1', { launcher: OWN_POOL }), node('2', { launcher: 'nl02-PoolWorker.rack-main-0' })];
    for (const each of [own, other]) {
      world.nodes.set(each.id, { ...each, state: 'building' });
      world.nodes.set(each.id, { ...each, state: 'failed' });
      world.nodes.set(each.id, { ...each, state: 'failed', comment: 'x' });
    }

    expect(seen().filter(([, , notice]) => notice !== undefined)).toEqual([['node', '1', 'node-failed']]);
  });

  it('are sent for a request by the launcher that declined it last', () => {
    for (const declinedBy of [
      ['other', OWN_POOL],
      [OWN_POOL, 'other'],
    ]) {
      const asked = request(`200-${declinedBy[0]}`, { declinedBy });
      world.requests.set(asked.id, asked);
      world.requests.set(asked.id, { ...asked, state: 'failed' });
    }

    expect(seen().filter(([, , notice]) => notice !== undefined)).toEqual([['request', '200-other', 'request-failed']]);
  });

  it('are not sent for records found at the start', () => {
    world.nodes.set('1', node('1', { launcher: OWN_POOL, state: 'failed' }));

    expect(seen()).toEqual([['node', '1', undefined]]);
  });
});

it('reports that a request was fulfilled, with its current record', () => {
  const asked = request('200-0');
  world.requests.set('200-0', { ...asked, state: 'fulfilled' });
  events.length = 0;
  for (const outcome of ['declined', 'fulfilled'] as const)
    world.events.emit('requestEnded', { outcome, request: asked, provider: 'rack', pool: 'main' });

  expect(seen()).toEqual([['request', '200-0', 'request-fulfilled']]);
  expect(events[0]?.data()).toMatchObject({ state: 'fulfilled' });
});

it('reports failed launches to webhooks, and successful ones to streams only', () => {
  const of = { provider: 'sky', az: 'z1' } as Parameters<World['activity']['launchEnded']>[2];
  world.activity.launchEnded('ready', 5_000, of);
  world.activity.launchEnded('timeout', 5_000, of);

  expect(seen()).toEqual([
    ['launch', 'sky', undefined],
    ['launch', 'sky', 'launch-failed'],
  ]);
  expect(events[0]?.data()).toEqual({ provider: 'sky', az: 'z1', result: 'ready', seconds: 5 });
});

it('reports each operator command that came, changed or ended, and no other', () => {
  const command = (name: string) =>
    newControl({ kind: 'pool', name, mode: 'pause', owner: 'alice', limit: null, reason: '', endTimeMs: null }, 0);
  const [one, two] = [command('rack/a'), command('rack/b')];
  world.setControls([one, two]);
  events.length = 0;
  world.setControls([{ ...one }]);

  expect(seen()).toEqual([
    ['control', 'pool/rack%2Fa', undefined],
    ['control', 'pool/rack%2Fb', undefined],
  ]);
  expect(events.map((event) => event.data() === null)).toEqual([false, true]);
});

it('reports nothing after it was ended', () => {
  end();
  world.nodes.set('1', node('1'));
  world.setImage({ name: 'debian', paused: false, buildRequestedMs: undefined, builds: new Map(), uploads: new Map() });

  expect(events).toEqual([]);
});
