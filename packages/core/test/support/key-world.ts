import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeRequest, requestPath, withRequest, type LeaseRecord, type NodeId } from '@nodepool/zk-protocol';
import type { Config } from '../../src/contract/config.js';
import { LeftKeys } from '../../src/launcher/state/left-keys.js';
import { leaseWorld } from './lease-world.js';
import { SshHost } from './ssh-host.js';

/** The key of the lessee. */
export const LESSEE_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';
/** Foreign lines of the host. */
export const FOREIGN = 'ssh-rsa AAAA admin\n# end';

/** A {@link leaseWorld} whose nodes are on a real SSH host. In one piece: each function needs the world. */
export async function keyWorld({ isKeptOn = true } = {}) {
  const home = await mkdtemp(join(tmpdir(), 'nodepool-key-world-'));
  await mkdir(join(home, '.ssh'), { mode: 0o700 });
  const keys = join(home, '.ssh', 'authorized_keys');
  await writeFile(keys, FOREIGN, { mode: 0o600 });
  const host = await SshHost.start(home);
  const file = join(home, 'lease_key');
  await writeFile(file, host.launcherKey.private, { mode: 0o600 });
  const world = await leaseWorld();
  const { clock, other, context } = world.world;
  const [provider] = context.config.now.providers.values();
  if (!provider) throw new Error('there is no provider');
  const leaseKeys = new Map([['p', { file, isKeptOn }]]);
  const config: Config = { ...context.config.now, providers: new Map([['p', provider]]), leaseKeys };
  context.config.now = config;
  const { host: address, port, username, hostKeys } = host.login;
  const login = { interfaceIp: address, connectionPort: port, username, hostKeys };
  /** Lets time pass, here and for SSH, until the condition holds. */
  const until = async (holds: () => boolean | Promise<boolean>) => {
    const endMs = Date.now() + 60_000;
    while (!(await holds())) {
      if (Date.now() > endMs) throw new Error(`the lease is still ${world.leases.get('l1')?.state}`);
      await clock.advance(20);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  return {
    ...world,
    ...{ host, file, config, login, until },
    leftKeys: new LeftKeys(world.cache, context.mirror, context.events),
    /** Lets this time pass, here and for SSH. */
    pass: (ms: number) => {
      const endMs = clock.now() + ms;
      return until(() => clock.now() >= endMs);
    },
    state: (): LeaseRecord['state'] | undefined => world.leases.get('l1')?.state,
    /** Content of `authorized_keys`. */
    keys: () => readFile(keys, 'utf8'),
    /** Serves the request with nodes on the host. */
    serve: async (count = 1) => {
      const { id } = world.request();
      const ids: NodeId[] = [];
      for (let i = 0; i < count; i++) ids.push(await world.world.createNode({ allocatedTo: id, ...login }));
      const fulfilled = withRequest(world.request(), { state: 'fulfilled', nodeIds: ids }, clock.now());
      await clock.run(other.setData(requestPath(id), encodeRequest(fulfilled)));
      return ids;
    },
    close: async () => {
      world.stop();
      await host.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
