import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  buildPath,
  buildsPath,
  connect,
  decodeBuild,
  encodeBuild,
  encodeUpload,
  IMAGES_ROOT,
  newBuild,
  newNode,
  newUpload,
  systemClock,
  uploadPath,
  uploadsPath,
  type BuildRecord,
  type Clock,
  type NodeId,
  type NodeRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { QuotaError } from '../../contract/errors.js';
import { silentLogger } from '../../contract/logger.js';
import { canaryOf, newCanary, withCanary } from '../../images/trial.js';
import { LauncherEvents } from './events.js';
import { ImageMirror } from './image-mirror.js';

const OLD = 'a'.repeat(32);
const NEW = 'b'.repeat(32);
const WAIT = { timeout: 60_000, interval: 10 };
const STEP = { launches: 2, stepMs: 3_600_000 };
const BROKEN = new Error('no boot');

let dir: string;
let server: Awaited<ReturnType<typeof startEmbeddedServer>>;
let zk: ZooKeeper;
const nodes = new Map<NodeId, NodeRecord>();
let aheadMs = 0;
const mirrors: ImageMirror[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'canary-'));
  server = await startEmbeddedServer({ dataDir: dir });
  zk = await connect({ servers: server.connectString });
  await add(OLD, 60_000, ['sky', 'sea']);
});

afterEach(async () => {
  for (const mirror of mirrors.splice(0)) mirror.stop();
  nodes.clear();
  aheadMs = 0;
  await zk.close();
  await server.close();
  await rm(dir, { recursive: true });
});

/** A build that is ready, and uploaded. */
async function add(id: string, ageMs: number, providers: readonly string[], isTried = false): Promise<void> {
  const nowMs = Date.now() - ageMs;
  const build = newBuild({ image: 'debian', id }, { state: 'ready', formats: ['raw'] }, nowMs);
  await zk.ensurePath(buildsPath('debian'));
  await zk.create(buildPath('debian', id), encodeBuild(isTried ? withCanary(build, newCanary(STEP, nowMs)) : build));
  for (const provider of providers) {
    const key = { image: 'debian', buildId: id, provider, id: '' };
    const upload = newUpload(key, { state: 'ready', externalId: `${provider}-${id[0]}` }, nowMs);
    await zk.ensurePath(uploadsPath('debian', id, provider));
    await zk.create(`${uploadsPath('debian', id, provider)}/`, encodeUpload(upload), { sequential: true });
  }
}

async function launcher(): Promise<ImageMirror> {
  const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const mirror = new ImageMirror({ zk, clock, logger: silentLogger, events: new LauncherEvents() }, nodes);
  mirrors.push(mirror);
  await mirror.start();
  return mirror;
}

async function launch(mirror: ImageMirror, name: string, provider = 'sky', mayTry = true) {
  const node = name as NodeId;
  nodes.set(node, newNode({ state: 'building', labels: ['small'] }, 0));
  const choice = await mirror.chooseUpload('debian', { provider, node, mayTry });
  if (!choice) throw new Error('there was no choice');
  return {
    build: choice.upload.buildId,
    end: (error?: Error) => {
      nodes.delete(node);
      return choice.ended(error);
    },
  };
}

async function read(id = NEW): Promise<BuildRecord | undefined> {
  const { data, stat } = await zk.getData(buildPath('debian', id));
  return decodeBuild({ image: 'debian', id }, data, stat, Date.now());
}

/** A launch that succeeds, once the turn of the new build has come. */
async function launchNew(mirror: ImageMirror, node: string): Promise<void> {
  const one = await launch(mirror, node);
  await one.end();
  if (one.build !== NEW) throw new Error('its turn has not come');
}

/** A node of a build is given back after so long a use. */
function use(build: string, ms: number) {
  const imageId = uploadPath('debian', build, 'sky', '0000000000');
  const node = newNode({ state: 'in-use', labels: ['small'], imageId }, 0);
  return { id: '1', before: node, after: { ...node, state: 'used', stateTimeMs: ms } };
}

const canary = async () => {
  const build = await read();
  return build && canaryOf(build, Date.now());
};

describe('launches of an image', () => {
  it('have no choice where no new build is tried out', async () => {
    await add(NEW, 0, ['sky']);
    const mirror = await launcher();

    expect(mirror.chooseUpload('debian', { provider: 'sky', node: '1' as NodeId, mayTry: true })).toBeUndefined();
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW);
  });

  it('use a new build at once where there is no other', async () => {
    await add(NEW, 0, ['sky', 'air'], true);
    const mirror = await launcher();

    expect(mirror.chooseUpload('debian', { provider: 'air', node: '1' as NodeId, mayTry: true })).toBeUndefined();
    expect(mirror.newestUpload('debian', 'air')?.buildId).toBe(NEW);
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(OLD);
  });

  it('try a new build one at a time, over all launchers', async () => {
    await add(NEW, 0, ['sky', 'sea'], true);
    const [one, two] = [await launcher(), await launcher()];

    const herd = await Promise.all(
      Array.from({ length: 20 }, (_, i) => launch(i % 2 === 0 ? one : two, `n${i}`, i % 3 === 0 ? 'sea' : 'sky')),
    );

    expect(herd.filter(({ build }) => build === NEW)).toHaveLength(1);
    expect((await launch(two, 'later')).build).toBe(OLD);
    await herd.find(({ build }) => build === NEW)?.end(new QuotaError('no quota'));
    await vi.waitFor(async () => expect((await launch(two, 'again')).build).toBe(NEW), WAIT);
  });

  it('try a build that is in service elsewhere with one launch where it is new', async () => {
    await add(NEW, 0, ['sky', 'sea'], true);
    const mirror = await launcher();
    for (const node of ['1', '2', '3', '4', '5']) {
      await vi.waitFor(() => launchNew(mirror, node), WAIT);
    }
    await vi.waitFor(() => expect(shareSeen(mirror)).toBe(100), WAIT);

    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW);
    expect(mirror.newestUpload('debian', 'sea')?.buildId).toBe(OLD);
    const tried = await Promise.all(['6', '7', '8'].map((node) => launch(mirror, node, 'sea')));
    expect(tried.filter(({ build }) => build === NEW)).toHaveLength(1);
    await Promise.all(tried.map((one) => one.end()));
    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'sea')?.buildId).toBe(NEW), WAIT);
  });

  it('try it again after the launcher was killed that had begun to', async () => {
    await add(NEW, 0, ['sky'], true);
    const killed = await launch(await launcher(), 'lost');
    const mirror = await launcher();
    aheadMs = 120_000;

    expect([killed.build, (await launch(mirror, 'next')).build]).toEqual([NEW, OLD]);
    nodes.delete('lost' as NodeId);

    expect((await launch(mirror, 'other')).build).toBe(NEW);
  });

  it('give it its share once a node was ready', async () => {
    await add(NEW, 0, ['sky'], true);
    const mirror = await launcher();
    await (await launch(mirror, 'first')).end();
    await vi.waitFor(async () => expect((await canary())?.share).toBe(5), WAIT);
    await vi.waitFor(() => expect(shareSeen(mirror)).toBe(5), WAIT);

    const launches = await Promise.all(Array.from({ length: 200 }, (_, i) => launch(mirror, `n${i}`)));

    expect(launches.filter(({ build }) => build === NEW)).toHaveLength(10);
  });
});

describe('a new build that fails', () => {
  /** It fails, and the same node is then made from the build before it. */
  async function failOnce(mirror: ImageMirror, node: string): Promise<void> {
    const tried = await vi.waitFor(async () => {
      const one = await launch(mirror, node);
      if (one.build !== NEW) throw new Error('its turn has not come');
      return one;
    }, WAIT);
    expect(await tried.end(BROKEN)).toBe(true);
    const other = await launch(mirror, node, 'sky', false);
    expect(other.build).toBe(OLD);
    await other.end();
  }

  it('is withdrawn after five nodes, with the reason, and the build before it serves', async () => {
    await add(NEW, 0, ['sky', 'sea'], true);
    const [one, two] = [await launcher(), await launcher()];

    for (const [i, mirror] of [one, two, one, two, one].entries()) await failOnce(mirror, `n${i}`);

    await vi.waitFor(async () => expect((await read())?.state).toBe('deleting'), WAIT);
    await vi.waitFor(() => {
      const entry = two.images.get('debian');
      expect(entry?.paused).toBe(true);
      expect(entry?.pauseReason).toBe(
        `build ${NEW} was withdrawn: 5 of 5 launches failed, of the build before it 0 of 5; ` +
          'chance explains that with a probability of 0.40 %; the last error was: no boot',
      );
      expect([...(entry?.uploads.values() ?? [])].map(({ buildId, state }) => `${buildId[0]} ${state}`).sort()).toEqual(
        ['a ready', 'a ready', 'b deleting', 'b deleting'],
      );
    }, WAIT);
    expect(two.newestUpload('debian', 'sea')?.buildId).toBe(OLD);
    expect(two.chooseUpload('debian', { provider: 'sky', node: '1' as NodeId, mayTry: true })).toBeUndefined();
  });

  it('is withdrawn when its nodes boot and are given back at once', async () => {
    await add(NEW, 0, ['sky'], true);
    const mirror = await launcher();
    await launchNew(mirror, 'first');

    for (let i = 0; i < 40; i++) mirror.nodeChanged(use(OLD, 600_000));
    for (let i = 0; i < 3; i++) mirror.nodeChanged(use(NEW, 5_000));

    await vi.waitFor(() => expect(mirror.images.get('debian')?.pauseReason).toContain('given back at once'), WAIT);
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(OLD);
  });

  it('is not at fault for nodes that stay in use, or that another build was used for', async () => {
    await add(NEW, 0, ['sky'], true);
    const mirror = await launcher();
    await launchNew(mirror, 'first');

    for (let i = 0; i < 40; i++) mirror.nodeChanged(use(OLD, 600_000));
    for (let i = 0; i < 20; i++) mirror.nodeChanged(use(NEW, 600_000));
    for (let i = 0; i < 5; i++) mirror.nodeChanged(use('c'.repeat(32), 1_000));
    mirror.nodeChanged({ ...use(NEW, 1_000), before: undefined });

    await vi.waitFor(
      async () =>
        expect((await canary())?.uses).toEqual({ now: { ready: 20, failed: 0 }, before: { ready: 40, failed: 0 } }),
      WAIT,
    );
  });

  it('stays where there is nothing else, and is not launched elsewhere any more', async () => {
    await add(NEW, 0, ['sky', 'air'], true);
    const mirror = await launcher();

    for (const node of ['1', '2', '3', '4', '5']) await failOnce(mirror, node);

    await vi.waitFor(async () => expect((await canary())?.refused).toContain('5 of 5 launches failed'), WAIT);
    expect((await read())?.state).toBe('ready');
    expect(await zk.exists(`${IMAGES_ROOT}/debian/pause`)).toBeUndefined();
    expect(mirror.newestUpload('debian', 'air')?.buildId).toBe(NEW);
    expect((await launch(mirror, '6')).build).toBe(OLD);
  });

  it('is not at fault where the build before it fails as well', async () => {
    await add(NEW, 0, ['sky'], true);
    const mirror = await launcher();

    for (const node of ['1', '2', '3', '4', '5']) {
      const tried = await vi.waitFor(async () => {
        const one = await launch(mirror, node);
        if (one.build !== NEW) throw new Error('its turn has not come');
        return one;
      }, WAIT);
      await tried.end(BROKEN);
      await (await launch(mirror, node, 'sky', false)).end(BROKEN);
    }

    await vi.waitFor(async () => expect(await canary()).toMatchObject({ doubts: {}, now: {} }), WAIT);
    expect((await read())?.state).toBe('ready');
  });
});

function shareSeen(mirror: ImageMirror): number | undefined {
  const build = mirror.images.get('debian')?.builds.get(NEW);
  return build && canaryOf(build, Date.now())?.share;
}
