import {
  buildPath,
  buildsPath,
  decodeBuild,
  encodeBuild,
  encodeUpload,
  IMAGES_ROOT,
  newBuild,
  newNode,
  newUpload,
  systemClock,
  uploadsPath,
  type BuildRecord,
  type JsonObject,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LaunchError, ProviderUnavailableError, QuotaError } from '../../contract/errors.js';
import { silentLogger } from '../../contract/logger.js';
import { failedTests } from '../../images/failed-tests.js';
import { NEW_TRIAL, trialOf, withTrial } from '../../images/trial.js';
import { LauncherEvents } from '../../launcher/state/events.js';
import { ImageMirror } from '../../launcher/state/image-mirror.js';
import { imageTrials } from './index.js';

const OLD = 'a'.repeat(32);
const NEW = 'b'.repeat(32);
const WAIT = { timeout: 20_000, interval: 5 };
const NO_BOOT = new LaunchError('status', 'no boot');
const OK = undefined;
/** A short one ends soon after a change of the database. */
const SESSION = { sessionTimeoutMs: 1_000 };

let server: MemoryServer;
let zk: ReturnType<typeof connectInMemory>['zk'];
const nodes = new Map<NodeId, NodeRecord>();
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  server = new MemoryServer(systemClock);
  ({ zk } = connectInMemory(server, SESSION));
  await add(OLD, 60_000, ['sky', 'sea']);
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  nodes.clear();
  await zk.close();
});

/** A build that is ready, and uploaded. @param raw - further keys of its record */
async function add(id: string, ageMs: number, providers: readonly string[], raw: JsonObject = {}): Promise<void> {
  const nowMs = Date.now() - ageMs;
  const build = newBuild({ image: 'debian', id }, { state: 'ready', formats: ['raw'] }, nowMs);
  await zk.ensurePath(buildsPath('debian'));
  await zk.create(buildPath('debian', id), encodeBuild({ ...build, raw: { ...build.raw, ...raw } }));
  for (const provider of providers) {
    const key = { image: 'debian', buildId: id, provider, id: '' };
    const upload = newUpload(key, { state: 'ready', externalId: `${provider}-${id[0]}` }, nowMs);
    await zk.ensurePath(uploadsPath('debian', id, provider));
    await zk.create(`${uploadsPath('debian', id, provider)}/`, encodeUpload(upload), { sequential: true });
  }
}

const tried = (providers: readonly string[] = ['sky', 'sea']) =>
  add(NEW, 0, providers, withTrial(newBuild({ image: 'debian', id: NEW }, { state: 'ready' }, 0), NEW_TRIAL).raw);

/** Images as a launcher sees them. @param hasTrials - whether it has the feature */
async function launcher(hasTrials = true): Promise<ImageMirror> {
  const { zk: own } = connectInMemory(server, SESSION);
  const context = {
    zk: own,
    clock: systemClock,
    logger: silentLogger,
    events: new LauncherEvents(),
    mirror: { nodes },
  };
  const mirror = new ImageMirror(context);
  if (hasTrials) imageTrials({ context, images: mirror });
  ends.push(
    () => mirror.stop(),
    () => own.close(),
  );
  await mirror.start();
  return mirror;
}

/** Begins an attempt to launch a node. */
function begin(mirror: ImageMirror, name: string, provider = 'sky', mayTry = true) {
  const node = name as NodeId;
  nodes.set(node, newNode({ state: 'building', labels: ['small'] }, 0));
  const choice = mirror.chooseUpload('debian', { provider, node, mayTry });
  return { build: choice?.upload.buildId, end: (error?: Error) => choice?.ended(error) };
}

/** A whole launch: where an attempt with the new build fails, another one has the build before it. @returns builds of the attempts */
function launch(
  mirror: ImageMirror,
  node: string,
  results: { now?: Error; before?: Error },
  provider = 'sky',
): unknown[] {
  const first = begin(mirror, node, provider);
  const isTried = first.build === NEW;
  const wasTried = first.end(isTried ? results.now : results.before) === true;
  const next = wasTried ? begin(mirror, node, provider, false) : undefined;
  next?.end(results.before);
  nodes.delete(node as NodeId);
  return [first.build, ...(next ? [next.build] : [])];
}

async function read(id = NEW): Promise<BuildRecord | undefined> {
  const { data, stat } = await zk.getData(buildPath('debian', id));
  return decodeBuild({ image: 'debian', id }, data, stat, Date.now());
}

const counted = async (provider = 'sky') => {
  const build = await read();
  return build && trialOf(build)?.now[provider];
};

/** Launches that fail, until so many failures are counted. @param from - how many are counted already */
async function failUntil(mirror: ImageMirror, failed: number, { provider = 'sky', from = 0 } = {}): Promise<void> {
  for (let n = from + 1; n <= failed; n++) {
    launch(mirror, `n${n}`, { now: NO_BOOT }, provider);
    await vi.waitFor(async () => expect((await counted(provider))?.failed).toBe(n), WAIT);
    await settled(mirror);
  }
}

/** The launcher has seen what was stored. */
const settled = (mirror: ImageMirror) =>
  vi.waitFor(async () => expect(mirror.images.get('debian')?.builds.get(NEW)?.raw).toEqual((await read())?.raw), WAIT);

const withdrawn = (mirror: ImageMirror) =>
  vi.waitFor(() => expect(mirror.images.get('debian')?.builds.get(NEW)?.state).toBe('deleting'), WAIT);

describe('launches of an image', () => {
  it('have no choice where no new build is tried out', async () => {
    await add(NEW, 0, ['sky']);
    const mirror = await launcher();

    expect(begin(mirror, '1').build).toBeUndefined();
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW);
  });

  it('use a new build at once where there is no other', async () => {
    await tried(['sky', 'air']);
    const mirror = await launcher();

    expect(begin(mirror, '1', 'air').build).toBeUndefined();
    expect(mirror.newestUpload('debian', 'air')?.buildId).toBe(NEW);
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(OLD);
  });

  it('use the newest build where a launcher has no trials', async () => {
    await tried();
    const mirror = await launcher(false);

    expect(begin(mirror, '1').build).toBeUndefined();
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW);
  });

  it('try a new build one at a time in each provider, until a node is ready there', async () => {
    await tried();
    const mirror = await launcher();

    const herd = Array.from({ length: 20 }, (_, i) => begin(mirror, `n${i}`, i % 2 === 0 ? 'sky' : 'sea'));
    const builds = herd.map(({ build }) => build);
    herd[0]?.end(OK);

    expect(builds).toEqual([NEW, NEW, ...Array<string>(18).fill(OLD)]);
    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW), WAIT);
    expect(mirror.newestUpload('debian', 'sea')?.buildId).toBe(OLD);
    expect([begin(mirror, 'x').build, begin(mirror, 'y', 'sea').build]).toEqual([undefined, OLD]);
  });

  it('try it again where a launch ended without a result', async () => {
    await tried();
    const mirror = await launcher();
    const lost = begin(mirror, 'lost');

    expect([lost.build, begin(mirror, '1').build]).toEqual([NEW, OLD]);
    nodes.delete('lost' as NodeId);
    expect(begin(mirror, '2').build).toBe(NEW);
  });

  it.each([
    ['quota', new QuotaError('none left')],
    ['an API that does not answer', new ProviderUnavailableError('503')],
    ['an end from outside', new DOMException('ended', 'AbortError')],
  ])('that fail for %s say nothing of a new build', async (_, error) => {
    await tried();
    const mirror = await launcher();

    for (let i = 0; i < 20; i++) expect(launch(mirror, `n${i}`, { now: error })).toEqual([NEW]);

    await settled(mirror);
    expect(await counted()).toBeUndefined();
  });
});

describe('a new build that fails', () => {
  it('is withdrawn after 3 of 3 where the build before it works, with the reason', async () => {
    await tried(['sky']);
    const mirror = await launcher();
    const first = begin(mirror, 'first');
    for (let i = 0; i < 20; i++) expect(launch(mirror, `old${i}`, {})).toEqual([OLD]);
    first.end(new QuotaError('none left'));

    await failUntil(mirror, 2);
    launch(mirror, 'last', { now: NO_BOOT });

    await withdrawn(mirror);
    const { paused, pauseReason, uploads } = mirror.images.get('debian') ?? expect.fail();
    expect(paused).toBe(true);
    expect(pauseReason).toBe(
      `build ${NEW} was withdrawn: 3 of 3 launches failed, of the build before it 0 of 23; ` +
        'chance explains that with a probability of 0.04 %; the last error was: no boot',
    );
    expect([...uploads.values()].map(({ buildId, state }) => `${buildId[0]} ${state}`).sort()).toEqual([
      'a ready',
      'a ready',
      'b deleting',
    ]);
    expect(begin(mirror, 'next').build).toBeUndefined();
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(OLD);
  });

  it.each([
    ['7 of 7 where half of all launches fail', 50, 7],
    ['9 of 9 where 59 of 100 fail', 59, 9],
  ])('is withdrawn after %s', async (_, failing, expected) => {
    await tried(['sky']);
    const mirror = await launcher();
    const first = begin(mirror, 'first');
    for (let i = 0; i < 300; i++) launch(mirror, `old${i}`, i % 100 < failing ? { before: NO_BOOT } : {});
    first.end(new QuotaError('none left'));

    await failUntil(mirror, expected - 1);
    expect((await read())?.state).toBe('ready');
    launch(mirror, 'last', { now: NO_BOOT });

    await withdrawn(mirror);
  });

  it('is withdrawn where it fails, and serves elsewhere', async () => {
    await tried();
    const mirror = await launcher();
    launch(mirror, 'good', {});
    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW), WAIT);

    await failUntil(mirror, 4, { provider: 'sea' });

    await vi.waitFor(() => expect(begin(mirror, '1', 'sea').build).toBeUndefined(), WAIT);
    const [newInSea, newInSky] = [mirror.newestUpload('debian', 'sea'), mirror.newestUpload('debian', 'sky')];
    expect([newInSea?.buildId, newInSky?.buildId]).toEqual([OLD, NEW]);
    const build = (await read()) ?? expect.fail();
    expect([build.state, [...failedTests(build).keys()]]).toEqual(['ready', ['sea']]);
    expect(await zk.exists(`${IMAGES_ROOT}/debian/pause`)).toBeUndefined();
  });

  it('is kept, and launched nowhere by itself, once the upload of the build before it is gone', async () => {
    await tried(['sky']);
    const mirror = await launcher();
    const failing = begin(mirror, '1');
    await failUntil(await launcher(), 3);
    failing.end(NO_BOOT);
    const pair = begin(mirror, '1', 'sky', false);
    await zk.deleteRecursive(buildPath('debian', OLD));
    pair.end(OK);

    await vi.waitFor(async () => expect((await counted())?.failed).toBe(4), WAIT);
    expect((await read())?.state).toBe('ready');
    expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW);
  });

  it('is withdrawn by two launchers together, and by one that was started meanwhile', async () => {
    await tried(['sky']);
    const one = await launcher();
    const two = await launcher();

    launch(one, 'v', { now: NO_BOOT });
    launch(two, 'w', { now: NO_BOOT }); // both write at the same moment
    await vi.waitFor(async () => expect((await counted())?.failed).toBe(2), WAIT);
    launch(two, 'x', { now: NO_BOOT });
    await vi.waitFor(async () => expect((await counted())?.failed).toBe(3), WAIT);
    const restarted = await launcher();
    launch(restarted, 'y', { now: NO_BOOT });

    await withdrawn(one);
    await withdrawn(two);
  });

  it('is withdrawn again after the database of before was restored', async () => {
    await tried(['sky']);
    const mirror = await launcher();
    await failUntil(mirror, 2);
    const backup = server.copy();
    await failUntil(mirror, 4, { from: 2 });
    await withdrawn(mirror);

    server.replace(backup);
    await vi.waitFor(() => expect(mirror.images.get('debian')?.builds.get(NEW)?.state).toBe('ready'), WAIT);
    await vi.waitFor(() => expect(mirror.ready).toBe(true), WAIT);

    launch(mirror, 'x', { now: NO_BOOT });
    await vi.waitFor(async () => expect((await counted())?.failed).toBe(3), WAIT);
    launch(mirror, 'y', { now: NO_BOOT });
    await withdrawn(mirror);
  });

  it('is withdrawn with what a former release has counted, whose notes stay', async () => {
    const theirs = { share: 0, since: 1, ready_at_share: 0, doubts: { sky: 1 }, probe: { node: '7', since: 1 } };
    const known = { now: { sky: { ready: 0, failed: 2 } }, before: { sky: { ready: 9, failed: 0 } } };
    await add(NEW, 0, ['sky', 'sea'], { canary: { ...theirs, ...known, refused: null, launches: 5, step_time: 60 } });
    const mirror = await launcher();

    launch(mirror, 'x', { now: NO_BOOT });

    await vi.waitFor(
      async () => expect(failedTests((await read()) ?? expect.fail()).get('sky')).toContain('3 of 3'),
      WAIT,
    );
    expect((await read())?.raw['canary']).toMatchObject({ ...theirs, now: { sky: { ready: 0, failed: 3 } } });
  });
});

describe('a good build', () => {
  it('stays where one launch succeeded, however many fail afterwards', async () => {
    await tried(['sky']);
    const mirror = await launcher();
    await failUntil(mirror, 2);

    launch(mirror, 'good', {});
    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW), WAIT);

    for (let i = 0; i < 20; i++) expect(launch(mirror, `bad${i}`, { now: NO_BOOT })).toEqual([undefined]);
    expect(await counted()).toEqual({ ready: 1, failed: 2 });
  });

  it('stays while a cloud boots nothing, although the build before it worked until then', async () => {
    await tried(['sky']);
    const mirror = await launcher();
    const first = begin(mirror, 'first');
    for (let i = 0; i < 50; i++) launch(mirror, `old${i}`, {});
    first.end(new QuotaError('none left'));

    for (let i = 0; i < 20; i++) expect(launch(mirror, `n${i}`, { now: NO_BOOT, before: NO_BOOT })).toEqual([NEW, OLD]);
    launch(mirror, 'good', {});

    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'sky')?.buildId).toBe(NEW), WAIT);
    expect(await counted()).toEqual({ ready: 1, failed: 0 });
  });
});
