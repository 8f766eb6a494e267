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
