import { requestPath, type LauncherId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServedRequest } from '../../../test/support/served-request.js';
import { reason } from '../plan/candidates.js';
import { isHopeless, refuse } from './refuse.js';

const NEVER = reason('exceeds-quota', 'too much', 'less');

/** A request that the pool refuses, and the outcomes that are told of. */
async function refusable() {
  const served = await ServedRequest.begin(['a']);
  const { registry, unlocks, turns } = served.rooms;
  const tools = { view: served.view, registry, unlocks, turns, waits: served };
  const outcomes: string[] = [];
  served.context.events.on('requestEnded', ({ outcome, pool }) => void outcomes.push(`${pool}: ${outcome}`));
  const request = await served.stored();
  const run = (why?: typeof NEVER, from = request) => served.world.clock.run(refuse(served.context, tools, from, why));
  return { served, tools, outcomes, request, run };
}

describe('a request that a pool refuses', () => {
  it('is failed when no other pool is left', async () => {
    const { served, outcomes, run } = await refusable();

    expect(await run(NEVER)).toBe('done');
    expect(await served.stored()).toMatchObject({ state: 'failed', declinedBy: [served.launcherId] });
    expect(outcomes).toEqual(['main: declined']);
  });

  it('is there for another pool', async () => {
    const { served, run } = await refusable();
    await served.rooms.register();

    expect(await run(NEVER)).toBe('done');
    expect(await served.stored()).toMatchObject({ state: 'requested', declinedBy: [served.launcherId] });
  });

  it('is left to a process that has locked it', async () => {
    const { served, outcomes, run } = await refusable();
    await served.lockElsewhere();

    expect(await run(NEVER)).toBe('busy');
    expect(await served.stored()).toMatchObject({ state: 'requested', declinedBy: [] });
    expect(outcomes).toEqual([]);
  });

  it('is not written when its requestor has removed it', async () => {
    const { served, run } = await refusable();
    await served.world.clock.run(served.world.other.delete(requestPath(served.id)));

    expect(await run(NEVER)).toBe('gone');
  });
});

describe('a request that the pool has declined before', () => {
  it('is failed once every other pool has declined it or left', async () => {
    const { served, tools, run } = await refusable();
    await served.rooms.register();
    await served.world.pass(11_000); // others that start beside this launcher would be there by now
    await run(NEVER);
    const declined = await served.stored();
    const early = [isHopeless(tools, declined), await run(undefined, declined)];

    const all = { ...declined, declinedBy: [...declined.declinedBy, 'another' as LauncherId] };

    expect(early).toEqual([false, undefined]);
    expect([isHopeless(tools, all), await run(undefined, all)]).toEqual([true, 'done']);
    expect(await served.stored()).toMatchObject({ state: 'failed' });
  });
});
