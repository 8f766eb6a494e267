import { afterEach, beforeEach, expect, it } from 'vitest';
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

const seen = () => events.map(({ type, id }) => [type, id]);

it('reports that a request was fulfilled, with its current record', () => {
  const asked = request('200-0');
  world.requests.set('200-0', { ...asked, state: 'fulfilled' });
  events.length = 0;
  for (const outcome of ['declined', 'fulfilled'] as const)
    world.events.emit('requestEnded', { outcome, request: asked, provider: 'rack', pool: 'main' });

  expect(seen()).toEqual([['request', '200-0']]);
  expect(events[0]?.data()).toMatchObject({ state: 'fulfilled' });
});

it('reports successful and failed launches', () => {
  const of = { provider: 'sky', az: 'z1' } as Parameters<World['activity']['launchEnded']>[2];
  world.activity.launchEnded('ready', 5_000, of);
  world.activity.launchEnded('timeout', 5_000, of);

  expect(seen()).toEqual([
    ['launch', 'sky'],
    ['launch', 'sky'],
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
    ['control', 'pool/rack%2Fa'],
    ['control', 'pool/rack%2Fb'],
  ]);
  expect(events.map((event) => event.data() === null)).toEqual([false, true]);
});

it('reports nothing after it was ended', () => {
  end();
  world.nodes.set('1', node('1'));
  world.setImage({ name: 'debian', paused: false, buildRequestedMs: undefined, builds: new Map(), uploads: new Map() });

  expect(events).toEqual([]);
});
