import { join } from 'node:path';
import { encodeNode, newNode, nodePath, readDatabaseId, type NodeId } from '@nodepool/zk-protocol';
import { expect, it, vi } from 'vitest';
import { elasticConfig, oneProvider } from '../elastic-config.js';
import { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { useElastic } from '../use-harness.js';

/** An instance without a record is deleted after two sweeps, a minute apart, have seen it. */
const LEAKS_FOUND_MS = 150_000;
const DATABASE_ID_TAG = 'nodepool_database_id';

const get = useElastic({});
const FOUND = { timeout: LEAKS_FOUND_MS, interval: 200 };
const SOON = { timeout: SOON_MS, interval: 50 };
const setup = oneProvider();

/** Metadata of an instance created by a version that knew no database ids. */
const named = (nodeId: string) => ({ nodepool_provider_name: 'cloud-one', nodepool_node_id: nodeId });

async function leak(metadata: Record<string, string>): Promise<string> {
  return ((await get().cloud.call('leak', { name: 'np', metadata })) as { id: string }).id;
}

async function adopt(dir: string, ...args: string[]): Promise<{ status: number | string; out: string; err: string }> {
  const place = ['-c', join(dir, 'nodepool.yaml'), '--state-dir', join(dir, 'state')];
  const command = NodepoolProcess.start(['adopt', 'cloud-one', ...args, ...place]);
  const status = await command.end();
  return { status, out: command.stdout, err: command.stderr };
}

it('a launcher with an empty database lists instances of another database and deletes only those it adopts', async () => {
  await get().launch(setup);
  const zuul = await get().newClient();
  const nodes = await zuul.getNodes(['small', 'small', 'small']);
  await zuul.use(nodes);
  const inUse = [...get().cloud.instances.keys()].sort();
  const unproven = await leak(named('0000000000'));
  const dir = join(get().dir, 'empty');
  const second = await LauncherProcess.start(dir, 'empty', elasticConfig(setup, get().cloud.dir));
  try {
    await second.whenReady();
    await second.whenLogged(/belong to no record of this database/);

    const health = (await second.getJson('/healthz')) as {
      alien_resources: { id: string; database: string | null }[];
    };
    const listed = await adopt(dir, '--json');
    const taken = await adopt(dir, '--yes');
    await vi.waitFor(() => expect(get().cloud.instances.has(unproven)).toBe(false), FOUND);

    const own = await readDatabaseId(get().zk);
    expect(inUse).toHaveLength(3);
    expect(health.alien_resources.map(({ id }) => id).sort()).toEqual([...inUse, unproven].sort());
    expect(new Set(health.alien_resources.map(({ database }) => database))).toEqual(new Set([own, null]));
    expect(listed.status).toBe(1);
    expect(listed.err).toContain('Add --yes');
    expect((JSON.parse(listed.out) as { id: string }[]).map(({ id }) => id).sort()).toEqual(
      [...inUse, unproven].sort(),
    );
    expect(taken).toMatchObject({ status: 1, err: expect.stringContaining('Adopted 1 of 1') as string });
    expect([...get().cloud.instances.keys()].sort()).toEqual(inUse);
  } finally {
    await second.kill();
  }
  await zuul.giveBack(nodes);
  await get().assertClean();
}, 300_000);

it('a launcher that replaces an older version tags the instances of existing records with the database id', async () => {
  const id = '0000000050' as NodeId;
  const externalId = await leak(named(id));
  const node = newNode(
    { state: 'ready', externalId, provider: 'cloud-one', pool: 'main', labels: ['small'], interfaceIp: 'np.fake' },
    Date.now(),
  );
  await get().zk.ensurePath(nodePath(id));
  await get().zk.setData(nodePath(id), encodeNode({ ...node, id }));

  await get().launch(setup);

  const own = await readDatabaseId(get().zk);
  await vi.waitFor(() => expect(get().cloud.instances.get(externalId)?.metadata[DATABASE_ID_TAG]).toBe(own), SOON);
  await get().zk.deleteRecursive(nodePath(id));
  await vi.waitFor(() => expect(get().cloud.instances.has(externalId)).toBe(false), FOUND);
}, 300_000);
