import {
  encodeRequest,
  newPoolComponent,
  newRequest,
  REQUESTS_ROOT,
  type LauncherId,
  type NodeFields,
  type PoolComponentRecord,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { Ledger } from '../../launcher/ledger/ledger.js';
import { LostRequests } from '../../launcher/requests/lost-requests.js';
import { ResumedLaunches } from './index.js';
import type { TakeOver } from './take-over.js';

const BEGUN: NodeFields = { state: 'building', launchState: {}, labels: ['a'], provider: 'p', pool: 'main' };
const POOL = newPoolComponent({
  ...{ name: 'main', providerName: 'p', launcherId: 'of-p' as LauncherId, hostname: 'nl02', state: 'running' },
  ...{ version: '1', supportedLabels: ['a'], priority: 100, paused: false },
});

type How = 'registered elsewhere' | 'own' | 'own, about to register' | 'nowhere';

async function createLost(world: ServiceWorld, id: RequestId): Promise<RequestId> {
  const { clock, other } = world;
  await world.createNode({ ...BEGUN, allocatedTo: id });
  const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, clock.now()));
  await clock.run(other.create(`${REQUESTS_ROOT}/${id}`, body));
  return id;
}

/** A launcher beside requests whose launches were begun by one that is gone. @param how - where the pool of their nodes is */
async function lostLaunches(how: How, count = 1) {
  const world = await ServiceWorld.open();
  const { context } = world;
  const ledger = new Ledger(context, { runnerOf: () => undefined });
  const registry = {
    announce: () => undefined,
    candidates: how === 'nowhere' ? [] : [POOL],
    isOwn: () => how.startsWith('own'),
    registered: { has: () => how !== 'own, about to register' },
  };
  const offered: RequestId[] = [];
  let answer = (_id: RequestId): TakeOver => 'no';
  const lost = new LostRequests(context, ledger);
  new ResumedLaunches({ context, ledger, lost, registry }, ({ id }) => {
    offered.push(id);
    return answer(id);
  });
  const ids: RequestId[] = [];
  for (let i = 0; i < count; i++) {
    ids.push(await createLost(world, `200-000000000${i}` as RequestId));
  }
  await world.pass(100);
  const take = (id: RequestId): TakeOver => {
    const request = context.mirror.requests.get(id);
    if (request) ledger.begin(request, []);
    return 'taken';
  };
  return {
    ...{ world, offered, take },
    answerWith: (next: typeof answer) => (answer = next),
    states: () => ids.map((id) => context.mirror.requests.get(id)?.state),
    appear: (pool: PoolComponentRecord) => {
      registry.candidates = [pool];
      context.events.emit('poolChanged', { before: undefined, after: pool });
    },
  };
}

describe('a request whose launches can be resumed', () => {
  it.each([
    ['nowhere', 10_000],
    ['registered elsewhere', 30_000],
    ['own, about to register', 30_000],
  ] as const)('with its pool %s, is put back after %i ms', async (how, ms) => {
    const { world, states, offered } = await lostLaunches(how);

    await world.pass(ms - 500);
    expect(states()).toEqual(['pending']);
    await world.pass(1_000);

    expect(states()).toEqual(['requested']);
    expect(offered.length).toBeGreaterThan(1);
  });

  it('is put back at once when the pool is of this launcher and cannot accept it', async () => {
    const { states } = await lostLaunches('own');

    expect(states()).toEqual(['requested']);
  });

  it('is left to a pool of this launcher that will take it', async () => {
    const { world, states, answerWith } = await lostLaunches('own, about to register');
    answerWith(() => 'later');

    await world.pass(29_000);
    expect(states()).toEqual(['pending']);
    await world.pass(2_000);

    expect(states()).toEqual(['requested']);
  });

  it('is offered once more when its time is over', async () => {
    const { world, states, answerWith, take } = await lostLaunches('registered elsewhere');
    await world.pass(29_000);
    answerWith(take);

    await world.pass(2_000);

    expect(states()).toEqual(['pending']);
  });

  it('is offered when a pool appears, and then left to it', async () => {
    const { world, states, offered, appear } = await lostLaunches('nowhere');
    const before = offered.length;
    appear(POOL);
    await world.pass(12_000);

    expect(offered.length).toBeGreaterThan(before);
    expect(states()).toEqual(['pending']);
  });

  it('is left to others by a launcher that drains', async () => {
    const { world, states, offered } = await lostLaunches('nowhere');
    world.context.life.isDraining = true;
    const before = offered.length;

    await world.pass(60_000);

    expect(states()).toEqual(['pending']);
    expect(offered.length).toBe(before);
  });
});
