import { readFile } from 'node:fs/promises';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DATABASE_ID_PATH } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const OWN_DATABASE = 'a'.repeat(32);
const OTHER_DATABASE = 'b'.repeat(32);
const TAGS = { nodepool_provider_name: 'sky', nodepool_node_id: '0000000777' };

interface Shown {
  readonly type: string;
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A driver whose cloud is a file. `lists` and `tags`: what it can do. */
const codeOf = (name: string, file: string, { lists, tags }: { lists: boolean; tags: boolean }) => `
import { readFileSync, writeFileSync } from 'node:fs';
const read = () => JSON.parse(readFileSync(${JSON.stringify(file)}, 'utf8'));
const provider = {
  start: async () => {}, idle() {}, stop() {}, join: async () => {},
  ${lists ? 'listResources: async () => read(),' : ''}
  ${
    tags
      ? `tagResource: async ({ id }, tags) => {
    if (id === 'stubborn') throw new Error('the cloud refuses');
    const all = read().map((one) => (one.id === id ? { ...one, metadata: { ...one.metadata, ...tags } } : one));
    writeFileSync(${JSON.stringify(file)}, JSON.stringify(all));
  },`
      : ''
  }
};
export const driver = { name: '${name}', apiVersion: 1, schema: { properties: { pools: {} } },
  capabilities: { launches: true, pausesAtQuota: true, managesImages: false },
  getProviderConfig: (entry) => ({ name: entry.name, driverName: '${name}', entry, pools: new Map(), managesImages: false }),
  getProvider: (config) => ({ ...provider, config }) };`;

const get = useWorld();
const cloudFile = () => get().file('cloud.json');

const installDriver = (name: string, can: { lists: boolean; tags: boolean }) =>
  get().installDriver(name, codeOf(name, cloudFile(), can));

const instance = (id: string, changes: Record<string, string> = {}): Shown => ({
  ...{ type: 'instance', id, metadata: { ...TAGS, ...changes } },
});

async function fill(...shown: Shown[]): Promise<void> {
  await get().write('cloud.json', JSON.stringify(shown));
}

/** Ids of what carries the id of the own database. */
async function adopted(): Promise<string[]> {
  const shown = JSON.parse(await readFile(cloudFile(), 'utf8')) as Shown[];
  return shown.flatMap(({ id, metadata }) => (metadata['nodepool_database_id'] === OWN_DATABASE ? [id] : []));
}

const adopt = (...args: string[]) => get().call('adopt', ...args);

beforeAll(async () => {
  await installDriver('able', { lists: true, tags: true });
  await installDriver('untagging', { lists: true, tags: false });
  await installDriver('blind', { lists: false, tags: false });
  const entries = [
    { name: 'sky', driver: 'able' },
    { name: 'stone', driver: 'untagging' },
    { name: 'fog', driver: 'blind' },
  ];
  await get().write('nodepool.yaml', JSON.stringify({ providers: entries.map((entry) => ({ ...entry, pools: [] })) }));
});
beforeEach(() => get().zk.create(DATABASE_ID_PATH, OWN_DATABASE));

describe('nodepool adopt', () => {
  it('lists nothing, and ends well, where every resource is proven', async () => {
    await fill(
      instance('m-1', { nodepool_database_id: OWN_DATABASE }),
      instance('m-2', { nodepool_provider_name: 'x' }),
    );

    expect(await adopt('sky', '--json')).toMatchObject({ status: 0, stdout: '[]\n' });
  });

  it('lists aliens with whole ids, and adopts nothing without a terminal to ask at', async () => {
    const id = `machine-${'x'.repeat(90)}`;
    await fill(instance(id));

    const { status, stdout, stderr } = await adopt('sky');

    expect(status).toBe(1);
    expect(stdout).toContain(id);
    expect(stderr).toContain('WARNING! The launchers of this database delete adopted resources');
    expect(stderr).toContain('Nothing adopted: there is no terminal to ask at. Add --yes to adopt them.');
    expect(await adopted()).toEqual([]);
  });

  it('writes the id of the database on those without one, with --yes', async () => {
    await fill(instance('m-1'), instance('m-2'), instance('other', { nodepool_provider_name: 'x' }));

    const { status, stderr } = await adopt('sky', '--yes');

    expect(status).toBe(0);
    expect(stderr).toContain('Adopted 2 of 2 resources; launchers delete them once two sweeps have seen them.');
    expect(await adopted()).toEqual(['m-1', 'm-2']);
  });

  it('leaves resources of another database, unless forced', async () => {
    await fill(instance('m-1'), instance('m-2', { nodepool_database_id: OTHER_DATABASE }));

    const first = await adopt('sky', '--yes');
    const afterFirst = await adopted();
    const forced = await adopt('sky', '--yes', '--force');

    expect([first.status, afterFirst]).toEqual([1, ['m-1']]);
    expect(first.stderr).toContain('1 of them have the id of another database, which may use them.');
    expect([forced.status, await adopted()]).toEqual([0, ['m-1', 'm-2']]);
    expect(forced.stderr).toContain(`have the id of another database (${OTHER_DATABASE}), which may use them.`);
  });

  it('ends with status 1 when the cloud refuses a tag, and adopts the rest', async () => {
    await fill(instance('stubborn'), instance('m-2'));

    const { status, stderr } = await adopt('sky', '--yes');

    expect(status).toBe(1);
    expect(stderr).toContain('instance stubborn could not be tagged: the cloud refuses');
    expect(stderr).toContain('Adopted 1 of 2 resources');
    expect(await adopted()).toEqual(['m-2']);
  });

  it('adopts nothing for a database without an id', async () => {
    await fill(instance('m-1'));
    await get().zk.delete(DATABASE_ID_PATH);

    const { status, stderr } = await adopt('sky', '--yes');

    expect(status).toBe(1);
    expect(stderr).toContain('nothing adopted: this database has no id yet; start a launcher on it first');
  });

  it.each([
    ['skky', 'nodepool.yaml has no provider skky: did you mean sky?'],
    ['elsewhere', 'nodepool.yaml has no provider elsewhere: it has sky, stone, fog'],
    ['fog', 'the driver of provider fog cannot list what its cloud has'],
    [
      'stone',
      'nothing adopted: the driver of provider stone cannot tag resources; delete them with the tools of the cloud',
    ],
  ])('refuses provider %s', async (provider, message) => {
    await fill(instance('m-1', { nodepool_provider_name: provider }));

    const { status, stderr } = await adopt(provider, '--yes');

    expect(status).toBe(1);
    expect(stderr).toContain(message);
  });
});
