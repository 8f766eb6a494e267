import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedDataDir } from '@nodepool/core/config';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { connect, encodeNode, lastPart, newNode, type ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FrameProxy, type Verdict } from '../frame-proxy.js';
import { LauncherProcess } from '../launcher-process.js';
import { NodepoolProcess } from '../nodepool-process.js';

const LOGIN = { scheme: 'digest', auth: 'nodepool:secret' };
const OWN = { acl: [{ permissions: 31, scheme: 'auth', id: '' }] };
const DATABASE_ID = '0123456789abcdef0123456789abcdef';
const UPLOADS = '/nodepool/images/debian/builds/b1/providers/cloud/images';
/** Number of nodes created, most of them deleted again, as in a database that has been in use. */
const FORMER_NODES = 700;
const NEVER = 1_000_000_000;
/** Kills spread over the whole copy, and kills at the last packets, which complete it. */
const SPREAD_KILLS = 6;
const LAST_KILLS = 5;

let dir: string;
let zookeeper: ZooKeeperHandle;
/** State directory of an installation whose launcher is stopped. */
let original: string;
/** Persistent znodes of the original, by path, with content and ACL. */
let content: Map<string, string>;
let attempts = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodepool-move-'));
  zookeeper = await startZooKeeper();
  original = join(dir, 'original');
  const server = await startEmbeddedServer({ dataDir: embeddedDataDir(original), fsync: false });
  const zk = await connect({ servers: server.connectString, auth: [LOGIN] });
  await fill(zk);
  content = await contentOf(zk);
  // Closing the server first leaves the session and its ephemerals, as with a builder that outlives the launcher.
  await server.close();
  await zk.close();
});

afterAll(async () => {
  await zookeeper.stop();
  await rm(dir, { recursive: true });
});

async function fill(zk: ZooKeeper): Promise<void> {
  const roots = ['nodes', 'requests', 'components/builder', 'controls/provider', 'images/debian/builds/lock'];
  for (const path of [...roots.map((root) => `/nodepool/${root}`), UPLOADS, '/zuul/system']) await zk.ensurePath(path);
  const record = encodeNode(newNode({ state: 'ready', provider: 'cloud', labels: ['small'] }, 1_700_000_000_000));
  for (let number = 0; number < FORMER_NODES; number++) {
    const path = await zk.create('/nodepool/nodes/', record, { sequential: true });
    if (number % 20 !== 0) await zk.delete(path);
    else await zk.create(`${path}/lock`);
  }
  await zk.create('/nodepool/requests/200-', '{"state":"requested"}', { sequential: true });
  await zk.setData('/nodepool/images/debian/builds/lock', '');
  await zk.create('/nodepool/images/debian/pause', 'too big');
  await zk.setData('/nodepool/images/debian/builds/b1', '{"state":"ready"}');
  await zk.create(`${UPLOADS}/`, '{"state":"ready"}', { sequential: true });
  await zk.create('/nodepool/controls/provider/cloud', '{"mode":"pause"}');
  await zk.create('/nodepool/database-id', DATABASE_ID);
  await zk.create('/nodepool/protected', 'for one login', OWN);
  await zk.create('/nodepool/components/builder/host', 'gone', { ephemeral: true, sequential: true });
  await zk.create('/nodepool/nodes/0000000000/lock/id__lock__', 'held', { ephemeral: true, sequential: true });
}

async function contentOf(zk: ZooKeeper, path = '/nodepool', found = new Map<string, string>()) {
  const { data, stat } = await zk.getData(path);
  if (stat.ephemeralOwner !== 0n) return found;
  found.set(path, `${data.toString()} ${JSON.stringify((await zk.getAcl(path)).acl)}`);
  for (const child of await zk.getChildren(path)) await contentOf(zk, `${path}/${child}`, found);
  return found;
}

/** Prepares a copy of the installation, an empty ensemble to move it to, and a client of that ensemble. */
async function prepare() {
  const name = `attempt-${++attempts}`;
  const place = join(dir, name);
  const stateDir = join(place, 'state');
  await cp(original, stateDir, { recursive: true });
  const proxy = await FrameProxy.start(zookeeper.plainPort);
  const zk = await connect({ servers: `127.0.0.1:${zookeeper.plainPort}/${name}`, auth: [LOGIN] });
  onTestFinished(async () => {
    await zk.close();
    await proxy.stop();
  });
  const servers = [{ host: '127.0.0.1', port: proxy.port, chroot: `/${name}` }];
  const config = join(place, 'moving.yaml');
  const digest = { user: 'nodepool', password: 'secret' };
  await writeFile(config, JSON.stringify({ 'zookeeper-servers': servers, 'zookeeper-digest': digest }));
  const start = (...args: string[]) =>
    NodepoolProcess.start(['-c', config, '--state-dir', stateDir, 'move-to-ensemble', ...args]);
  const run = async (...args: string[]) => {
    const child = start(...args);
    return { status: await child.end(), stdout: child.stdout, stderr: child.stderr };
  };
  return { place, stateDir, proxy, zk, start, run, to: `127.0.0.1:${proxy.port}/${name}` };
}

/** Starts a launcher with the embedded database of the copy. */
async function launcherAt(place: string): Promise<LauncherProcess> {
  const launcher = await LauncherProcess.start(place, 'launcher', {});
  onTestFinished(() => launcher.kill());
  return launcher;
}

describe('nodepool move-to-ensemble', () => {
  it('copies all persistent znodes, and no service starts on the embedded database afterwards', async () => {
    const { place, stateDir, zk, run, to } = await prepare();

    const { status, stdout, stderr } = await run();

    expect(stderr).toContain('Not copied, as other programs made it: /zuul');
    expect(stderr).toContain('Still registered when the server stopped: builder host0000000000. If it runs, stop it');
    expect(stdout).toBe(`Moved ${content.size - 1} znodes from ${embeddedDataDir(stateDir)} to ${to}.\n`);
    expect(status).toBe(0);
    expect(await contentOf(zk)).toEqual(content);
    expect((await zk.getData('/nodepool/database-id')).data.toString()).toBe(DATABASE_ID);
    // Ids continue: no node, request or upload gets the id of an earlier one.
    const next = async (path: string) => Number(lastPart(await zk.create(path, '', { sequential: true })).slice(-10));
    expect(await next('/nodepool/nodes/')).toBe(FORMER_NODES);
    expect(await next('/nodepool/requests/200-')).toBe(1);
    expect(await next(`${UPLOADS}/`)).toBe(1);

    const launcher = await launcherAt(place);
    await launcher.whenLogged(/its content was moved to .*zookeeper-servers.*move-to-ensemble --undo/);
    expect(launcher.log).toContain(to);
    expect((await run()).stdout).toBe(`The content of ${embeddedDataDir(stateDir)} was moved to ${to} already.\n`);
  });

  it('can be repeated after a kill at any moment, and no service uses an incomplete copy', async () => {
    const counted = await prepare();
    counted.proxy.trap(NEVER, () => 'forward');
    expect(await counted.run()).toMatchObject({ status: 0 });
    const packets = NEVER - counted.proxy.remaining;
    const spread = Array.from({ length: SPREAD_KILLS }, (_, index) => 3 + Math.floor((index * packets) / SPREAD_KILLS));
    const last = Array.from({ length: LAST_KILLS }, (_, index) => packets - index);

    for (const [index, moment] of [...spread, ...last].entries()) {
      const { place, stateDir, proxy, zk, start, run } = await prepare();
      const moving = start();
      proxy.trap(moment, () => {
        moving.signal('SIGKILL');
        return index % 2 === 0 ? 'cut' : 'lose-answer';
      });
      expect(await moving.end(), `packet ${moment} of ${packets}`).toBe('SIGKILL');
      const hasId = (await zk.exists('/nodepool/database-id')) !== undefined;
      if (hasId) expect(new Map([...(await contentOf(zk))].filter(([path]) => content.has(path)))).toEqual(content);
      if (moment > packets / 2) {
        const launcher = await launcherAt(place);
        await launcher.whenLogged(/cannot use .*(moved to|not been finished)/);
      }

      expect(await run(), `packet ${moment} of ${packets}`).toMatchObject({ status: 0 });
      expect(await contentOf(zk)).toEqual(content);
      await rm(stateDir, { recursive: true });
    }
  });

  it('changes nothing while a launcher serves the database or when the ensemble is in use', async () => {
    const busy = await prepare();
    const launcher = await launcherAt(busy.place);
    await launcher.whenReady();
    const whileBusy = await busy.run();
    const occupied = await prepare();
    await occupied.zk.ensurePath('/nodepool/nodes');
    await occupied.zk.create('/nodepool/nodes/0000000000', 'of another installation');
    const before = await contentOf(occupied.zk);
    const whileOccupied = await occupied.run();

    expect(whileBusy).toMatchObject({ status: 1, stdout: '' });
    expect(whileBusy.stderr).toMatch(new RegExp(`stop the launcher.*process ${launcher.pid}`));
    expect(await busy.zk.exists('/nodepool')).toBeUndefined();
    expect(whileOccupied).toMatchObject({ status: 1, stdout: '' });
    expect(whileOccupied.stderr).toContain('already holds data of Nodepool: /nodepool/nodes/0000000000.');
    expect(await contentOf(occupied.zk)).toEqual(before);
    await (await launcherAt(occupied.place)).whenReady();
  });

  it('does not complete a copy that a service has used', async () => {
    const { proxy, zk, run } = await prepare();
    proxy.trap(60, async (): Promise<Verdict> => {
      await zk.create('/nodepool/database-id', 'f'.repeat(32));
      return 'forward';
    });

    const { status, stderr } = await run();

    expect(stderr).toContain('a service was started on');
    expect(status).toBe(1);
    expect((await run()).stderr).toContain('already holds data of Nodepool');
  });

  it('is reverted by --undo, after which the copy is another database', async () => {
    const { place, zk, run } = await prepare();
    await run();

    const { status, stdout } = await run('--undo', '--yes');

    expect(status).toBe(0);
    expect(stdout).toContain('is used again');
    expect(await zk.exists('/nodepool/database-id')).toBeUndefined();
    expect(await zk.exists('/nodepool/moving')).toBeUndefined();
    await (await launcherAt(place)).whenReady();
  });

  it('is not reverted while services use the ensemble, unless forced', async () => {
    const { zk, run } = await prepare();
    await run();
    const user = await zk.create('/nodepool/components/builder/other-', '{}', { ephemeral: true, sequential: true });

    const refused = await run('--undo', '--yes');

    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toContain(user);
    expect((await zk.getData('/nodepool/database-id')).data.toString()).toBe(DATABASE_ID);
    const forced = await run('--undo', '--force');
    expect(forced.stderr).toContain(user);
    expect(forced).toMatchObject({ status: 0 });
    expect(await zk.exists('/nodepool/database-id')).toBeUndefined();
  });

  it('is reverted without the ensemble only when forced, with a warning', async () => {
    const { proxy, run } = await prepare();
    await run();
    await proxy.stop();

    expect(await run('--undo', '--yes', '--connect-timeout', '1')).toMatchObject({ status: 1, stdout: '' });
    const forced = await run('--undo', '--force', '--connect-timeout', '1');

    expect(forced.stderr).toMatch(/No ZooKeeper server answered[^]*delete \/nodepool there/);
    expect(forced).toMatchObject({ status: 0 });
  });

  it('keeps a database id that a service created on an interrupted copy', async () => {
    const { proxy, zk, run } = await prepare();
    const other = 'f'.repeat(32);
    proxy.trap(60, async (): Promise<Verdict> => {
      await zk.create('/nodepool/database-id', other);
      return 'forward';
    });
    await run();

    expect(await run('--undo', '--yes')).toMatchObject({ status: 0 });
    expect((await zk.getData('/nodepool/database-id')).data.toString()).toBe(other);
    expect(await zk.exists('/nodepool/moving')).toBeUndefined();
  });

  it('ends --undo with status 1 when there is nothing to revert or no confirmation', async () => {
    const { zk, run } = await prepare();
    const tooEarly = await run('--undo');
    await run();
    const unanswered = await run('--undo');

    expect(tooEarly).toMatchObject({ status: 1, stdout: '' });
    expect(tooEarly.stderr).toContain('was not moved');
    expect(unanswered).toMatchObject({ status: 1 });
    expect(unanswered.stderr).toContain('Add --yes');
    expect(await zk.exists('/nodepool/database-id')).toBeDefined();
  });
});
