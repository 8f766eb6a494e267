import { chmod, rm } from 'node:fs/promises';
import { leasePath } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { FOREIGN, keyWorld, LESSEE_KEY } from '../../../test/support/key-world.js';

type World = Awaited<ReturnType<typeof keyWorld>>;
let open: World | undefined;

async function start(): Promise<World> {
  open = await keyWorld();
  return open;
}

afterEach(() => open?.close());

describe('the key of a lessee', () => {
  it.each([
    [
      'the host refuses the launcher',
      ({ host }: World) => (host.acceptsLauncher = false),
      /refuses the launcher's key/,
    ],
    ['the key file is readable for others', ({ file }: World) => chmod(file, 0o644), /chmod 600/],
    ['the key file is missing', ({ file }: World) => rm(file), /cannot be read/],
    ['the host is another one', ({ host }: World) => host.restartWithOtherKey(), /another host key than recorded/],
  ])('is added to no node when %s: others are tried, and then the lease fails', async (_what, breakIt, why) => {
    const world = await start();
    const { lease, leases, serve, until, keys, state, node, request } = world;
    await breakIt(world);
    await lease({ sshKey: LESSEE_KEY });
    const place = request().id;

    for (let attempt = 1; attempt < 5; attempt++) {
      const [id] = await serve();
      await until(() => leases.get('l1')?.keyFailures === attempt);
      expect(leases.get('l1')).toMatchObject({ state: 'waiting', nodeIds: [], keyHosts: [] });
      expect(request()).toMatchObject({ id: place, state: 'requested', nodeIds: [] });
      expect((await node(id))?.state).toBe('deleting');
    }
    const [last] = await serve();
    await until(() => state() === 'failed');

    expect(leases.get('l1')?.endReason).toMatch(why);
    expect(leases.get('l1')?.endReason).not.toContain('PRIVATE KEY');
    await until(async () => (await node(last))?.state === 'deleting');
    expect(await keys()).toBe(FOREIGN);
  });

  it('is not added for a version of the lease that is not the current one any more', async () => {
    const { lease, leases, serve, until, keys, host, world, state, node } = await start();
    await lease({ sshKey: LESSEE_KEY });
    // the lease is returned while the launcher logs in
    host.onLogin = () => void leases.end('l1', 'returned');
    const [id] = await serve();
    await until(() => state() === 'ended');
    await until(async () => (await node(id))?.state === 'deleting');

    expect(await keys()).toBe(FOREIGN);
    expect((await world.clock.run(world.other.getData(leasePath('l1')))).data.toString()).toContain('"key_hosts":[]');
  });
});
