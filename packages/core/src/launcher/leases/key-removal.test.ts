import { nodePath, type NodeId } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { FOREIGN, keyWorld, LESSEE_KEY } from '../../../test/support/key-world.js';

type World = Awaited<ReturnType<typeof keyWorld>>;
let open: World | undefined;

async function start(): Promise<World> {
  open = await keyWorld();
  return open;
}

async function startActive(count = 1): Promise<World & { ids: NodeId[] }> {
  const world = await start();
  await world.lease({ sshKey: LESSEE_KEY, labels: Array<string>(count).fill('a') });
  const ids = await world.serve(count);
  await world.until(() => world.state() === 'active');
  return { ...world, ids };
}

afterEach(() => open?.close());

describe('the key of a lessee', () => {
  it.each(['is returned', 'expires'])('is removed before the node is returned when its lease %s', async (how) => {
    const { leases, until, keys, node, ids, world, leftKeys, login } = await startActive();
    expect(leftKeys.on({ host: login.interfaceIp, port: login.connectionPort, username: 'ci' })).toBeUndefined();
    expect(leases.get('l1')?.keyHosts).toHaveLength(1);

    if (how === 'expires') await world.pass(10 * 60_000);
    else await world.clock.run(leases.end('l1', 'returned'));
    let keysAtReturn: string | undefined;
    await until(async () => {
      if ((await node(ids[0]))?.state !== 'deleting') return false;
      keysAtReturn = await keys();
      return true;
    });

    expect(keysAtReturn).toBe(FOREIGN);
    expect(leases.get('l1')).toMatchObject({ state: 'ended', keyHosts: [] });
  });

  it.each(['after its nodes were found', 'after it was added', 'when its lease is over'])(
    'is removed by another launcher when its own is killed %s',
    async (when) => {
      const { lease, leases, serve, until, keys, launcher, stop, world, host } = await start();
      const { leases: other } = await launcher('other');
      await lease({ sshKey: LESSEE_KEY });
      if (when === 'after its nodes were found') host.onLogin = stop;
      await serve();
      if (when === 'after its nodes were found') await until(() => host.logins > 0);
      else await until(() => leases.get('l1')?.state === 'active');
      if (when === 'when its lease is over') void world.clock.run(leases.end('l1', 'returned'));
      stop();
      host.onLogin = () => {};
      await until(() => other.get('l1')?.state === 'active' || other.get('l1')?.state === 'ended');
      if (other.get('l1')?.state === 'active') await world.clock.run(other.end('l1', 'returned'));

      await until(() => other.get('l1')?.state === 'ended' && other.get('l1')?.keyHosts.length === 0);

      expect(await keys()).toBe(FOREIGN);
    },
  );

  it('keeps its host out of service while that is down, also for a launcher that starts then', async () => {
    const { leases, host, until, keys, node, ids, world, leftKeys, login, launcher } = await startActive();
    const at = { host: login.interfaceIp, port: login.connectionPort, username: 'ci' };
    await host.stop();
    await world.clock.run(leases.end('l1', 'returned'));
    await until(async () => (await node(ids[0]))?.state === 'deleting');
    await world.clock.run(world.other.deleteRecursive(nodePath(ids[0] as NodeId)));
    await world.pass(2 * 3_600_000);

    expect(leftKeys.on(at)).toMatch(/the SSH key of lease l1 is not removed from it yet: login as ci .*ECONNREFUSED/);
    expect(leftKeys.on({ ...at, username: 'other' })).toBeUndefined();
    expect(leases.get('l1')?.keyHosts[0]?.error).toMatch(/ECONNREFUSED/);
    expect(await keys()).toContain('nodepool-lease-l1');
    expect((await launcher('other')).leases.get('l1')?.keyHosts).toHaveLength(1);

    await host.listen();
    await until(() => leases.get('l1') === undefined); // it was over for long

    expect(leftKeys.on(at)).toBeUndefined();
    expect(await keys()).toBe(FOREIGN);
  });

  it('is removed when another launcher has deleted the record of the node', async () => {
    const { leases, until, keys, ids, world, leftKeys, login } = await startActive();
    const at = { host: login.interfaceIp, port: login.connectionPort, username: 'ci' };
    const changes: (string | undefined)[] = [];
    world.context.events.on('leftKeysChanged', (host) => changes.push(leftKeys.on(host)));

    await world.clock.run(world.other.deleteRecursive(nodePath(ids[0] as NodeId)));
    await until(() => leases.get('l1')?.keyHosts.length === 0);

    expect(changes[0]).toMatch(/is not removed from it yet/);
    expect(leftKeys.on(at)).toBeUndefined();
    expect(await keys()).toBe(FOREIGN);
    expect(leases.get('l1')).toMatchObject({ state: 'ended' });
  });

  it('stays on a host while another node of the lease is there', async () => {
    const { leases, until, keys, ids, world } = await startActive(2);
    expect(leases.get('l1')?.keyHosts).toHaveLength(2);

    await world.clock.run(world.other.deleteRecursive(nodePath(ids[0] as NodeId)));
    await until(() => leases.get('l1')?.keyHosts.length === 1);
    expect(await keys()).toContain('nodepool-lease-l1');
    expect(leases.get('l1')?.state).toBe('active');

    await world.clock.run(leases.end('l1', 'returned'));
    await until(() => leases.get('l1')?.keyHosts.length === 0);
    expect(await keys()).toBe(FOREIGN);
  });

  it('keeps its host out of service with the reason while no launcher has a key for the provider', async () => {
    const { leases, until, keys, world, leftKeys, login, config, sweep } = await startActive();
    const at = { host: login.interfaceIp, port: login.connectionPort, username: 'ci' };
    world.context.config.now = { ...config, leaseKeys: new Map() };
    await world.clock.run(leases.end('l1', 'returned'));

    await until(() => leftKeys.on(at)?.includes('provider "p" has no "lease-ssh-key"') === true);
    world.context.config.now = config;
    sweep();

    await until(() => leases.get('l1')?.keyHosts.length === 0);
    expect(await keys()).toBe(FOREIGN);
  });
});
