import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeNode, NODES_ROOT, nodeLockPath, nodePath } from '@nodepool/zk-protocol';
import { TWO_HOSTS, useWorld } from '../../test/world.js';

const get = useWorld();

/** A cloud that logs its calls. */
const DRIVER = `import { appendFileSync } from 'node:fs';
const log = (line) => appendFileSync(new URL('./calls', import.meta.url), line + '\\n');
export const driver = { name: 'sky', apiVersion: 1, capabilities: { launches: true, pausesAtQuota: true, managesImages: false },
  schema: { properties: { pools: { type: 'array' } } },
  getProviderConfig: (entry) => ({ name: entry.name, driverName: 'sky', entry, maxConcurrency: -1, pools: new Map(), managesImages: false }),
  getProvider: (config) => ({ config,
    start: async () => log('start'),
    idle() {}, stop() {}, join: async () => log('end'),
    async startNodeCleanup(node) {
      log('delete ' + node.externalId + ' ' + node.state);
      if (node.externalId === 'stuck') throw new Error('the cloud is closed');
    } }) };
`;

const call = (...argv: string[]) => get().nodepool('sky.yaml', ...argv);
const cloudFolder = () => join(get().directory, 'node_modules', 'nodepool-driver-sky');

beforeAll(async () => {
  await get().installDriver('sky', DRIVER);
  await get().write('sky.yaml', 'providers: [{name: cloud, driver: sky, pools: []}]\n');
  await get().write('rack.yaml', TWO_HOSTS);
});

describe('nodepool delete --now', () => {
  it('deletes the instance and the record, without a launcher', async () => {
    await writeFile(join(cloudFolder(), 'calls'), '');
    const id = await get().createNode({ provider: 'cloud', externalId: 'i-1' });

    const { status, stdout } = await call('delete', id, '--now');

    expect(status).toBe(0);
    expect(stdout.split('\n')).toHaveLength(5);
    expect(await readFile(join(cloudFolder(), 'calls'), 'utf8')).toBe('start\ndelete i-1 deleting\nend\n');
    expect(await get().zk.getChildren(NODES_ROOT)).toEqual([]);
  });

  it('leaves a node that cannot be deleted to the launchers', async () => {
    const id = await get().createNode({ provider: 'cloud', externalId: 'stuck' });

    const { status, stderr } = await call('delete', id, '--now');

    const { data, stat } = await get().zk.getData(nodePath(id));
    expect([status, stderr]).toEqual([1, expect.stringContaining('the cloud is closed')]);
    expect(decodeNode(id, data, stat, 0)?.state).toBe('deleting');
    expect(await get().zk.getChildren(nodeLockPath(id))).toEqual([]);
  });

  it('deletes the record alone of a machine that stays', async () => {
    const id = await get().createNode({ state: 'in-use' });

    const { status } = await get().nodepool('rack.yaml', 'delete', id, '--now');

    expect(status).toBe(0);
    expect(await get().zk.getChildren(NODES_ROOT)).toEqual([]);
  });

  it('reports that the configuration lacks the provider', async () => {
    const id = await get().createNode({ provider: 'elsewhere' });

    const text = `Provider elsewhere for node ${id} not defined on this launcher`;
    expect(await call('delete', id, '--now')).toMatchObject({ status: 0, stdout: `${text}\n` });
    expect(await call('delete', id, '--now', '--strict')).toMatchObject({ status: 1, stderr: `nodepool: ${text}\n` });
  });
});
