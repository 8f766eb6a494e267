import { describe, expect, it } from 'vitest';
import type { World } from '../test/support/world.js';
import { useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));

describe('a login that is refused', () => {
  it('is a condition of the provider until Keystone accepts one', async () => {
    await setUp({ cloud: {} });
    world.cloud.password = 'changed';
    world.cloud.state.tokens.clear();
    await world.during(world.launch());
    const refused = world.provider.conditions?.();
    world.cloud.password = 'secret';
    await world.pass(600_000);
    await world.launchReady();

    expect(refused).toMatchObject([{ kind: 'provider', name: 'sky', type: 'LoginRefused', reason: 'Unauthorized' }]);
    expect(refused?.[0]?.message).toMatch(/401/);
    expect(refused?.[0]?.nextStep).toContain('cloud "fake" in clouds.yaml');
    expect(world.provider.conditions?.()).toEqual([]);
  });
});

describe('a cloud that asks to wait for a day', () => {
  // Ends: CallsPaused TooManyCalls
  it('is asked again after minutes, does not hold deletions back, and is a condition until then', async () => {
    await setUp();
    const node = await world.launchReady();
    const headers = { 'retry-after': '86400' };
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, times: 1, status: 429, headers });
    const launched = world.launch();
    await world.pass(5_000);
    await world.during(world.cleanUp(node));
    const deletedMs = world.clock?.now() ?? 0;
    const [paused] = world.provider.conditions?.() ?? [];

    const { state } = await world.during(launched);

    expect(paused).toMatchObject({ type: 'CallsPaused', evidence: { calls: 'compute.POST.servers', asked: 86_400 } });
    expect(state).toBe('ready');
    expect((world.clock?.now() ?? 0) - deletedMs).toBeLessThan(310_000);
    expect(world.provider.conditions?.()).toEqual([]);
  });
});
