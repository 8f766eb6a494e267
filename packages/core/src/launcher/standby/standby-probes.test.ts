import {
  decodeNode,
  encodeRequest,
  nodePath,
  requestPath,
  withRequest,
  type RequestFields,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import { StandbyProbes } from './standby-probes.js';

const PROVIDER = 'cloud';
let probes: StandbyProbes | undefined;
afterEach(() => probes?.stop());

/** A provider that is to be probed as long as `label` is set. */
async function setUp() {
  const world = await ServiceWorld.open();
  const state: { label: string | undefined } = { label: 'a' };
  probes = new StandbyProbes(world.services, { isActive: () => true, labelToProbe: () => state.label });
  const waiting = (): RequestRecord[] => [...world.services.mirror.requests.values()];
  const check = async () => {
    probes?.check(PROVIDER);
    await world.pass(200);
    return waiting();
  };
  /** Writes the request as a pool does that serves it. */
  const answer = async (request: RequestRecord | undefined, changes: RequestFields) => {
    if (!request) throw new Error('there is no request');
    const body = encodeRequest(withRequest(request, changes, world.clock.now()));
    await world.clock.run(world.other.setData(requestPath(request.id), body));
    await world.pass(500);
  };
  return { world, state, waiting, check, answer };
}

describe('a probe of a provider', () => {
  it('is a request for one standby node of that provider, however often it is time', async () => {
    const { check } = await setUp();

    await check();
    const requests = await check();

    expect(requests).toMatchObject([
      { labels: ['a'], requestor: MIN_READY_REQUESTOR, provider: PROVIDER, reuse: false },
    ]);
  });

  it('gives its node to everybody', async () => {
    const { world, check, answer, waiting } = await setUp();
    const [request] = await check();
    const node = await world.createNode({ allocatedTo: request?.id ?? null, externalId: 'x' });

    await answer(request, { state: 'fulfilled', nodeIds: [node] });

    expect(waiting()).toEqual([]);
    const { data, stat } = await world.clock.run(world.other.getData(nodePath(node)));
    expect(decodeNode(node, data, stat, world.clock.now())).toMatchObject({ state: 'ready', allocatedTo: null });
  });

  it.each([
    ['has declined it', { declinedBy: ['nl01-PoolWorker.cloud-main-1'] }],
    ['could not make it', { state: 'failed' }],
  ] as const)('is removed when the provider %s, and asked for again later', async (_what, changes) => {
    const { world, check, answer, waiting } = await setUp();
    const [request] = await check();

    await answer(request, changes);
    const after = waiting();
    await world.pass(31_000);

    expect(after).toEqual([]);
    expect(waiting().map(({ id }) => id)).not.toContain(request?.id);
    expect(waiting()).toHaveLength(1);
  });

  it('is removed when it is not needed any more, unless it has begun', async () => {
    const { state, check, answer, waiting } = await setUp();
    const [first] = await check();
    state.label = undefined;
    expect(await check()).toEqual([]);

    state.label = 'a';
    const [second] = await check();
    await answer(second, { state: 'pending' });
    state.label = undefined;
    await check();

    expect(waiting().map(({ id }) => id)).toEqual([second?.id]);
    expect(second?.id).not.toBe(first?.id);
  });

  it('does not have to end before the next one', async () => {
    const { check, answer, waiting } = await setUp();
    const [first] = await check();

    await answer(first, { state: 'pending' });
    await check();

    expect(waiting()).toHaveLength(2);
  });

  it('is asked for again when the session is lost in which it was', async () => {
    const { world, check, waiting } = await setUp();
    const [first] = await check();

    world.loseSession();
    await world.pass(100_000);

    expect(waiting()).toHaveLength(1);
    expect(waiting()[0]?.id).not.toBe(first?.id);
  });
});
