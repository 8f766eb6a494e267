import { describe, expect, it } from 'vitest';
import type { World } from '../test/support/world.js';
import { useWorlds } from '../test/support/use-worlds.js';
import { unusableText } from './instance.js';

let world: World;
const setUp = useWorlds((made) => (world = made));

describe('a node', () => {
  it('gets what the cloud says about its server', async () => {
    await setUp({ pool: { 'availability-zones': ['north'] }, cloud: { region_name: 'RegionOne' } }, ({ cloud }) => {
      cloud.state.zones = ['north', 'south'];
    });
    const node = await world.launchReady();

    expect(node).toMatchObject({
      ...{
        az: 'north',
        cloud: 'fake',
        region: null,
        username: 'zuul',
        publicIpv4: expect.stringMatching(/^198\.51\./) as unknown,
      },
    });
    // without ports: a launcher of the original would stop making nodes there
    expect(node.resources).toEqual({ instances: 1, cores: 1, ram: 2_048 });
    expect(node.hostId).not.toBe('');
  });

  it('waits for the host keys that its console prints, when these are the only right ones', async () => {
    const block = '-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAA root@np1\n-----END SSH HOST KEY KEYS-----\n';
    await setUp({ label: { 'host-keys-from-console': true } });
    const launched = world.launch();
    await world.pass(10_000);
    const stateBefore = [...world.nodes.values()][0]?.state;
    world.cloud.state.console = `boot\nci-info: x\n${block}login: `;

    const { node } = await world.during(launched);

    expect([stateBefore, node.state]).toEqual(['building', 'ready']);
    expect(node.hostKeys).toEqual(['ssh-ed25519 AAAA']);
  });

  it('fails for good reason when its console never prints any', async () => {
    await setUp({ label: { 'host-keys-from-console': true }, entry: { 'launch-retries': 1 } });

    const { state, error } = await world.during(world.launch());

    expect(state).toBe('failed');
    expect(error?.message).toContain('cloud-init');
    expect(world.counted).toEqual(['error.keyscan']);
  });
});

describe('what a record has of a server', () => {
  it('is its region only with region-name, and an empty text for each address it lacks', async () => {
    await setUp();
    const { region, publicIpv6 } = await world.launchReady();
    await setUp({ entry: { 'region-name': 'RegionOne' } });
    const named = await world.launchReady();

    expect([region, publicIpv6]).toEqual([null, '']);
    expect(named.region).toBe('RegionOne');
  });
});

describe('a server that was ready', () => {
  const server = { status: 'ACTIVE', taskState: undefined, powerState: 1, fault: undefined };

  it.each([
    [{ status: 'SHUTOFF' }, 'Nova shows it as SHUTOFF'],
    [{ status: 'ERROR', fault: 'the host failed' }, 'Nova shows it as ERROR: the host failed'],
    [{ status: 'SHELVED_OFFLOADED' }, 'Nova shows it as SHELVED_OFFLOADED'],
    [{ taskState: 'deleting' }, 'Nova shows it as ACTIVE (deleting)'],
    [{ status: 'SOFT_DELETED' }, 'Nova shows it as SOFT_DELETED'],
    [{ powerState: 4 }, 'Nova shows it as ACTIVE, but the hypervisor as shut down'],
    [{ powerState: 6 }, 'Nova shows it as ACTIVE, but the hypervisor as crashed'],
  ])('cannot be used when it is shown as %j', (shown, text) => {
    expect(unusableText({ ...server, ...shown })).toBe(text);
  });

  it.each([
    {},
    { powerState: undefined },
    { powerState: 0 },
    { status: 'UNKNOWN' },
    { status: 'REBOOT' },
    { status: 'MIGRATING' },
    { powerState: 4, taskState: 'rebooting' },
  ])('is not called unusable when it is shown as %j', (shown) => {
    expect(unusableText({ ...server, ...shown })).toBeUndefined();
  });
});
