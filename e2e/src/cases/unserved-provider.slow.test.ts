import { type ChildProcess } from 'node:child_process';
import { mkdir, rm, writeFile, access } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDebianPackages } from '@nodepool/test-servers';
import {
  buildPath,
  encodeBuild,
  encodeNode,
  encodeUpload,
  newBuild,
  newNode,
  newUpload,
  uploadPath,
  type BuildRecord,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Ground, startGround } from '../harness.js';
import { LauncherProcess } from '../launcher-process.js';
import { killOriginal, startOriginal } from '../original-launcher.js';
import { ServiceProcess } from '../service-process.js';
import { openSession } from '../session.js';
import { SOON_MS } from '../soon.js';
import { ZuulClient } from '../zuul-client.js';

const BUILDER = fileURLToPath(new URL('../../../packages/builder/bin/nodepool-builder.js', import.meta.url));
const HOUR_MS = 3_600_000;
/** Sweeps run once a minute. */
const SWEPT = { timeout: 150_000 };

let ground: Ground;
let original: ChildProcess | undefined;
const services: ServiceProcess[] = [];

beforeAll(async () => {
  await ensureDebianPackages(['python3-kazoo']);
  ground = await startGround();
});

afterAll(async () => {
  if (original) await killOriginal(original);
  await Promise.all(services.map((service) => service.stop()));
  await ground.zk.close();
  await ground.zookeeper.stop();
  await rm(ground.dir, { recursive: true, force: true });
});

/** A file of a mixed site: `original` has a driver that is not known here. */
function configOf(driver: string): Record<string, unknown> {
  return {
    'zookeeper-servers': [{ host: '127.0.0.1', port: ground.zookeeper.plainPort }],
    'images-dir': join(ground.dir, 'images'),
    'build-log-dir': join(ground.dir, 'logs'),
    'max-hold-age': 60,
    labels: [
      { name: 'small', 'max-ready-age': 60 },
      { name: 'pod', 'min-ready': 1, 'max-ready-age': 60 },
    ],
    diskimages: [{ name: 'debian', 'dib-cmd': '/bin/false', formats: ['raw'], elements: ['vm'] }],
    providers: [
      {
        ...{ name: 'original', driver: 'vessel', context: ['any', { kind: 'of' }, 'key'] },
        ...{
          diskimages: [{ name: 'debian', replicas: 3 }],
          pools: [{ name: 'main', labels: [{ name: 'pod', spec: {} }] }],
        },
      },
      {
        ...{ name: 'sim', driver, 'cloud-images': [{ name: 'debian-13' }], cloud: 'unserved' },
        ...{ 'cloud-settings': { 'state-dir': join(ground.dir, 'cloud') } },
        pools: [{ name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian-13', 'min-ram': 512 }] }],
      },
      { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes: [] }] },
    ],
  };
}

const STATES: (Pick<NodeRecord, 'state'> & Partial<NodeRecord>)[] = [
  ...(['building', 'ready', 'in-use', 'used', 'hold', 'deleting', 'failed', 'aborted', 'testing'] as const).map(
    (state) => ({
      state,
      externalId: `pod-${state}`,
    }),
  ),
  { state: 'ready', externalId: 'pod-lost', allocatedTo: '200-0000000999' as NodeRecord['allocatedTo'] },
  { state: 'used', externalId: null },
];

/** Records of an original launcher and builder that are away, an hour old, none of them locked. */
async function writeForeignRecords(): Promise<void> {
  const { zk } = ground;
  const sinceMs = Date.now() - HOUR_MS;
  await zk.ensurePath('/nodepool/nodes');
  for (const changes of STATES) {
    const node = newNode({ provider: 'original', pool: 'main', labels: ['pod'], ...changes }, sinceMs);
    await zk.create('/nodepool/nodes/', encodeNode(node), { sequential: true });
  }
  const builds: BuildRecord['state'][] = ['ready', 'ready', 'ready', 'ready', 'failed', 'building'];
  for (const [at, state] of builds.entries()) {
    const id = String(at + 1).padStart(10, '0');
    const build = newBuild({ image: 'debian', id }, { state, builderId: 'theirs', formats: ['raw'] }, sinceMs + at);
    await zk.ensurePath(buildPath('debian', id));
    await zk.setData(buildPath('debian', id), encodeBuild(build));
    for (const upload of (['ready', 'failed', 'uploading', 'deleting'] as const).entries())
      await writeUpload(id, upload);
  }

  async function writeUpload(buildId: string, [at, state]: [number, 'ready' | 'failed' | 'uploading' | 'deleting']) {
    const key = { image: 'debian', buildId, provider: 'original', id: String(at + 1).padStart(10, '0') };
    const path = uploadPath('debian', buildId, 'original', key.id);
    await zk.ensurePath(path);
    await zk.setData(path, encodeUpload(newUpload(key, { state, externalId: `image-${key.id}` }, sinceMs)));
  }
}

/** All foreign records with their versions. */
async function foreignRecords(): Promise<Record<string, string>> {
  const { zk } = ground;
  const found: Record<string, string> = {};
  const read = async (path: string): Promise<void> => {
    const { data, stat } = await zk.getData(path);
    if (data.length > 0) found[path] = `${stat.version} ${data.toString()}`;
    await Promise.all((await zk.getChildren(path)).map((name) => read(`${path}/${name}`)));
  };
  await Promise.all([read('/nodepool/nodes'), read('/nodepool/images/debian/builds')]);
  const isOurs = (text: string) => text.includes('"provider":"sim"') || text.includes('"provider": "sim"');
  return Object.fromEntries(Object.entries(found).filter(([, text]) => !isOurs(text)));
}

interface Health {
  readonly status: string;
  readonly config: { readonly providers: string[]; readonly unserved_providers: string[] };
  readonly conditions: {
    readonly type: string;
    readonly name: string;
    readonly severity: string;
    readonly message: string;
  }[];
}

async function unservedOf(service: ServiceProcess) {
  const { status, conditions, config } = (await service.getJson('/healthz')) as Health;
  const found = conditions.filter(({ type }) => type === 'Unserved').map(({ name, severity }) => `${name} ${severity}`);
  return { status, found, unserved: config.unserved_providers };
}

it('services change no record of a provider without a driver, and serve the others', async () => {
  await writeForeignRecords();
  const before = await foreignRecords();
  expect(Object.keys(before)).toHaveLength(STATES.length + 6 + 6 * 4);
  await mkdir(join(ground.dir, 'images'));
  const launcher = await LauncherProcess.start(join(ground.dir, 'launcher'), 'launcher', configOf('fake'));
  services.push(launcher);
  await launcher.whenReady();
  const builder = await ServiceProcess.start(BUILDER, {
    ...{ dir: join(ground.dir, 'builder'), name: 'builder' },
    config: JSON.stringify({ ...configOf('fake'), 'builder-webapp': { port: '%(NODEPOOL_WEB_PORT)' } }),
  });
  services.push(builder);
  await builder.whenReady();

  const zuul = new ZuulClient(await openSession(ground.zookeeper));
  const node = await zuul.getNode('small');
  const unserved = await Promise.all([unservedOf(launcher), unservedOf(builder)]);
  await zuul.giveBack([node]);

  expect(node.body).toMatchObject({ provider: 'sim' });
  const reported = { status: 'degraded', found: ['original error'], unserved: ['original'] };
  expect(unserved).toEqual([reported, reported]);
  for (const { log } of services)
    expect(log).toMatch(/provider \\?"original\\?" is not served: driver \\?"vessel\\?" is not installed/);

  // sweeps of both services have run when these are gone
  const empty = await ground.zk.create('/nodepool/nodes/', '', { sequential: true });
  const stray = join(ground.dir, 'images', 'debian-0000000077.raw');
  await writeFile(stray, '');
  await expect.poll(() => ground.zk.exists(empty), SWEPT).toBeUndefined();
  await expect.poll(() => access(stray).then(String, () => 'gone'), SWEPT).toBe('gone');
  expect(await foreignRecords()).toEqual(before);

  // a typing error does not end the service of a provider
  const logged = launcher.log.length;
  await launcher.rewriteConfig(configOf('fke'));
  await launcher.whenLogged(
    /provider \\?"sim\\?" would not be served: driver \\?"fke\\?" is not installed.*did you mean \\?"fake/,
    logged,
  );
  await zuul.giveBack([await zuul.getNode('small')]);
  await launcher.rewriteConfig(configOf('fake'));
  await launcher.whenLogged(/Configuration reloaded/, logged);

  // a launcher that has the driver, with its own way of treating its records
  const { connectString } = ground.zookeeper;
  await ground.zk.deleteRecursive('/nodepool/nodes');
  await ground.zk.ensurePath('/nodepool/nodes');
  original = await startOriginal({ hosts: connectString, name: 'nl01', labels: ['pod'], most: 4 });
  await expect.poll(() => unservedOf(launcher), { timeout: SOON_MS }).toMatchObject({ found: ['original warning'] });
  const [pod, small] = [await zuul.getNode('pod'), await zuul.getNode('small')];
  expect([pod.body['provider'], small.body['provider']]).toEqual(['original', 'sim']);
  await zuul.giveBack([pod, small]);
  await zuul.zk.close();
}, 600_000);
