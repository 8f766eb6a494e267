import { afterEach, describe, expect, it } from 'vitest';
import { FOREIGN, keyWorld, LESSEE_KEY } from '../../../test/support/key-world.js';

type World = Awaited<ReturnType<typeof keyWorld>>;
let open: World | undefined;

async function start(options?: Parameters<typeof keyWorld>[0]): Promise<World> {
  open = await keyWorld(options);
  return open;
}

afterEach(() => open?.close());

describe('the key of a lessee', () => {
  it('may log in once the lease is active, while its request has kept its place and its nodes were on hold', async () => {
    const { lease, serve, until, keys, state, node, world } = await start();
    await lease({ sshKey: LESSEE_KEY });
    const [id] = await serve();
    await until(async () => (await node(id))?.state === 'hold');
    expect(state()).toBe('waiting');
    expect(world.context.mirror.requests.size).toBe(1);

    await until(() => state() === 'active');

    expect(await keys()).toBe(`${LESSEE_KEY} nodepool-lease-l1\n${FOREIGN}`);
    expect(world.context.mirror.requests.size).toBe(0);
    expect((await node(id))?.holdExpirationMs).toBeGreaterThanOrEqual(11 * 60_000);
  });

  it('is not removed from a machine that is deleted after use', async () => {
    const { lease, leases, serve, until, keys, node, host, state, world } = await start({ isKeptOn: false });
    await lease({ sshKey: LESSEE_KEY });
    const [id] = await serve();
    await until(() => state() === 'active');
    expect(leases.get('l1')?.keyHosts).toEqual([]);

    await world.clock.run(leases.end('l1', 'returned'));
    await until(async () => (await node(id))?.state === 'deleting');

    expect(await keys()).toContain('nodepool-lease-l1');
    expect(host.logins).toBe(1);
  });
});
