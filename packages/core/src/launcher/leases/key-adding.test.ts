import { chmod, rm } from 'node:fs/promises';
import { encodeLease, leasePath, nodePath, type NodeId } from '@nodepool/zk-protocol';
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
    const { lease, leases, serve, until, keys, host, state, node, logins } = await start();
    await lease({ sshKey: LESSEE_KEY });
    // the lease is returned while the launcher logs in
    host.onLogin = () => void leases.end('l1', 'returned');
    const [id] = await serve();
    await until(() => state() === 'ended');
    await until(async () => (await node(id))?.state === 'deleting');

    expect(await keys()).toBe(FOREIGN);
    await until(() => leases.get('l1')?.keyHosts.length === 0);
    expect(logins.failing).toEqual([]);
  });

  it('is removed when a node is lost while it is being added', async () => {
    const { lease, leases, serve, until, pass, keys, host, world, request } = await start();
    const held = host.holdInput();
    await lease({ sshKey: LESSEE_KEY });
    const [id] = await serve();
    let deliver: (() => Promise<void>) | undefined;
    void held.then((ready) => (deliver = ready));
    await until(() => deliver !== undefined);

    await world.clock.run(world.other.deleteRecursive(nodePath(id as NodeId)));
    await pass(5_000);
    await deliver?.();
    expect(await keys()).toContain('nodepool-lease-l1');

    await until(() => request().state === 'requested' && leases.get('l1')?.keyHosts.length === 0);
    expect(await keys()).toBe(FOREIGN);
  });

  it('is removed when its lease was renewed at another launcher while the key was being added', async () => {
    const { lease, serve, until, pass, keys, host, world, launcher } = await start();
    const { leases: other } = await launcher('other');
    const held = host.holdInput();
    await lease({ sshKey: LESSEE_KEY });
    await serve();
    let deliver: (() => Promise<void>) | undefined;
    void held.then((ready) => (deliver = ready));
    await until(() => deliver !== undefined);

    await world.clock.run(other.renew('l1', 600_000));
    await until(() => other.get('l1')?.state === 'active');
    await world.clock.run(other.end('l1', 'returned'));
    await pass(5_000);
    await deliver?.();

    await until(() => other.get('l1')?.keyHosts.length === 0);
    expect(await keys()).toBe(FOREIGN);
  });

  it('is added only by a launcher that can remove it', async () => {
    const { lease, leases, serve, until, pass, keys, state, world, config, sweep } = await start();
    world.context.config.now = { ...config, leaseKeys: new Map() };
    await lease({ sshKey: LESSEE_KEY });
    await serve();
    await pass(5_000);
    expect(leases.get('l1')?.nodeIds).toEqual([]);
    world.context.config.now = config; // as a launcher that has the key
    sweep();

    await until(() => state() === 'active');
    expect(leases.get('l1')?.keyHosts).toHaveLength(1);
    await world.clock.run(leases.end('l1', 'returned'));

    await until(() => leases.get('l1')?.keyHosts.length === 0);
    expect(await keys()).toBe(FOREIGN);
  });

  it('does not keep its lease waiting for longer than it is meant to while no launcher serves the provider', async () => {
    const { lease, serve, until, state, world, config, leases } = await start();
    world.context.config.now = { ...config, providers: new Map(), leaseKeys: new Map() };
    await lease({ sshKey: LESSEE_KEY, giveUpMs: 5_000 });
    await serve();

    await until(() => state() === 'ended');
    expect(leases.get('l1')?.endReason).toBe('it was not served in time');
  });

  it.each([
    ['fails when the key cannot be added there', false],
    ['adds it again', true],
  ])('is removed when a launcher is killed after it was added, and another one %s', async (_what, works) => {
    const { lease, serve, until, keys, host, stop, launcher, world } = await start();
    const { leases } = await launcher('other');
    const held = host.holdInput();
    await lease({ sshKey: LESSEE_KEY });
    await serve();
    let deliver: (() => Promise<void>) | undefined;
    void held.then((ready) => (deliver = ready));
    await until(() => deliver !== undefined);
    await deliver?.();
    stop();
    expect(await keys()).toContain('nodepool-lease-l1');
    host.acceptsLauncher = works;

    await until(() => leases.get('l1')?.keyFailures === (works ? 1 : 2));
    expect(leases.get('l1')?.keyHosts).toHaveLength(1);
    if (works) await until(() => leases.get('l1')?.state === 'active');
    host.acceptsLauncher = true;
    await world.clock.run(leases.end('l1', 'returned'));

    await until(() => leases.get('l1')?.keyHosts.length === 0);
    expect(await keys()).toBe(FOREIGN);
  });

  it('makes its lease fail when launchers took it from each other too often', async () => {
    const { lease, serve, until, host, launcher, stop, state, world, leases, cache } = await start();
    await launcher('other');
    host.onLogin = stop;
    await lease({ sshKey: LESSEE_KEY });
    await serve();
    await until(() => host.logins > 0);
    const record = cache.get('l1');
    if (!record) throw new Error('there is no lease');
    await world.clock.run(world.other.setData(leasePath('l1'), encodeLease({ ...record, keyFailures: 4 })));

    await until(() => state() === 'failed');

    expect(leases.get('l1')?.endReason).toBe('its SSH key was not added in time on 5 attempts');
  });

  it('makes its lease fail when no launcher has a key for the provider', async () => {
    const { lease, serve, until, state, world, config, leases, keys } = await start();
    world.context.config.now = { ...config, leaseKeys: new Map() };
    await lease({ sshKey: LESSEE_KEY });
    for (let attempt = 1; attempt < 5; attempt++) {
      await serve();
      await until(() => leases.get('l1')?.keyFailures === attempt);
    }
    await serve();

    await until(() => state() === 'failed');

    expect(leases.get('l1')?.endReason).toMatch(/provider "p" has no "lease-ssh-key" at this launcher: set it/);
    expect(await keys()).toBe(FOREIGN);
  });
});
