import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts, type SshHost } from '@nodepool/test-servers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NodepoolProcess } from '../nodepool-process.js';
import { simpleSetup } from '../static-config.js';
import { useElastic, useStatic } from '../use-harness.js';

/** Too long for a host name, so that it fails without a query to a name server, which may be slow. */
const NO_NAME = 'x'.repeat(64);

type Installation = { dir: string; zookeeper: { servers: readonly { host: string; port: number }[] } };

/** Runs `nodepool` with a configuration that names only ZooKeeper, not the web servers of launchers. */
async function nodepool({ dir, zookeeper }: Installation, ...args: string[]): Promise<NodepoolProcess> {
  const config = join(dir, 'zookeeper-only.yaml');
  const servers = zookeeper.servers.map(({ host, port }) => ({ host, port }));
  await writeFile(config, JSON.stringify({ 'zookeeper-servers': servers }));
  const process = NodepoolProcess.start(['-c', config, ...args]);
  onTestFinished(() => process.kill());
  return process;
}

describe('a user who waits for a static host', () => {
  const get = useStatic({ sshd: { count: 2, keyTypes: ['ed25519'] } });

  it('sees the reason in request and explain', async () => {
    const [closed = 0] = await freePorts(1);
    const nowhere: SshHost = { ...get().host(0), address: NO_NAME };
    const shut: SshHost = { ...get().host(0), port: closed };
    const setup = simpleSetup([
      { host: nowhere, labels: ['nowhere'] },
      { host: shut, labels: ['shut'] },
      { host: get().host(0), labels: ['stranger'], hostKeys: get().host(1).hostKeys },
    ]);
    await get().launch({ ...setup });
    const wanted = [
      ['nowhere', new RegExp(`${NO_NAME}.*the name has no address`)],
      ['shut', new RegExp(`${closed}\\b.*(ECONNREFUSED|refused|answer)`)],
      ['stranger', /the configured host-key .* is not among the keys of the host/],
    ] as const;

    await Promise.all(
      wanted.map(async ([label, reason]) => {
        const request = await nodepool(get(), 'request', label);
        await request.whenSaid(reason);
        request.signal('SIGINT');
        await request.end();
        const explained = await nodepool(get(), 'explain', '--label', label);
        expect(await explained.end(), explained.stderr).toBe(0);

        expect(explained.stdout).toMatch(reason);
        expect(request.stderr).toMatch(
          /waits(: no pool can serve it now: static-one\/main| for pool "static-one\/main")/,
        );
      }),
    );
    await get().endTest();
  });
});

describe('a user who waits for a launch', () => {
  const get = useElastic();

  it('sees why each attempt failed', async () => {
    const provider = {
      name: 'cloud-one',
      pools: [{ labels: ['small'] }],
      cloudSettings: { 'create-time': 600 },
      more: { 'launch-retries': 4 },
    };
    await get().launch({ providers: [provider] });
    const request = await nodepool(get(), 'request', 'small');
    const seen = new Set<string>();
    const breakNext = async () => {
      let id = '';
      await get().cloud.until((instances) => {
        id = instances.find((instance) => !seen.has(instance.id))?.id ?? '';
        return id !== '';
      });
      seen.add(id);
      await get().cloud.call('breakDown', id);
    };

    for (const attempt of [1, 2, 3]) {
      await breakNext();
      await request.whenSaid(new RegExp(`attempt ${attempt} of 4 failed, the next one has begun: `));
    }
    await breakNext();

    expect(await request.end()).toBe(1);
    expect(request.stderr).toMatch(/is being served by pool "cloud-one\/main": attempt 1 of 4 failed/);
  });
});
