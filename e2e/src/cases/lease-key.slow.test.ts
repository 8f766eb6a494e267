import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser } from '../browser.js';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee, type LeaseAnswer } from '../lessee.js';
import { SOON_MS } from '../soon.js';
import { simpleSetup, type StaticSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const run = promisify(execFile);

/** Home directory of the user on the host. */
const home = mkdtempSync(join(tmpdir(), 'nodepool-lease-key-'));
const launcherKey = join(home, 'launcher');
const strangerKey = join(home, 'stranger');
const authorizedKeys = join(home, '.ssh', 'authorized_keys');
let foreign: string;

const get = useStatic({
  zookeeper: { tickMs: 200, minSessionTimeoutMs: 1000 },
  sshd: {
    ...{ count: 1, keyTypes: ['ed25519'] },
    options: ['Match all', `AuthorizedKeysFile ${authorizedKeys}`, `SetEnv HOME=${home}`],
  },
});

const makeKey = (file: string) => run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', file]);

beforeAll(async () => {
  await Promise.all([makeKey(launcherKey), makeKey(strangerKey)]);
  await mkdir(join(home, '.ssh'), { mode: 0o700 });
});

beforeEach(async () => {
  foreign = `# of the administrator\n${await readFile(`${launcherKey}.pub`, 'utf8')}ssh-rsa AAAA no newline at the end`;
  await writeFile(authorizedKeys, foreign);
  await chmod(authorizedKeys, 0o640);
});

afterAll(() => rm(home, { recursive: true, force: true }));

function setup(leaseKeyFile = launcherKey): StaticSetup {
  const setup = simpleSetup([{ host: get().host(0), labels: ['small'], maxParallelJobs: 2 }]);
  const providers = setup.providers.map((provider) => ({ ...provider, leaseKeyFile }));
  return { ...setup, providers, zookeeperTimeoutSeconds: 1.5 };
}

const start = (name: string, keyFile?: string): Promise<LauncherProcess> =>
  get().launch(setup(keyFile), { name, secure: { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] } });

/** A lessee with a fresh key. */
async function newLessee(ports: () => number[]) {
  const file = join(home, `lessee-${Math.random().toString(16).slice(2)}`);
  await makeKey(file);
  const key = (await readFile(`${file}.pub`, 'utf8')).trim();
  const lessee = new Lessee(ports);
  const { address, port, hostKeys } = get().host(0);
  await writeFile(`${file}.hosts`, `[${address}]:${port} ${hostKeys[0]}\n`);
  const options = ['BatchMode=yes', 'IdentitiesOnly=yes', `UserKnownHostsFile=${file}.hosts`, 'ConnectTimeout=10'];
  const args = ['-i', file, '-p', String(port), ...options.flatMap((option) => ['-o', option]), `root@${address}`];
  return {
    lessee,
    lease: (more: object = {}): Promise<LeaseAnswer> => lessee.lease(['small'], undefined, { ssh_key: key, ...more }),
    key,
    /** Whether the lessee can log in. */
    logsIn: async (): Promise<boolean> => {
      const { stdout } = await run('ssh', [...args, 'echo', 'inside']).catch(() => ({ stdout: '' }));
      return stdout === 'inside\n';
    },
  };
}

async function eventually<T>(read: () => Promise<T>, isGood: (value: T) => boolean): Promise<T> {
  const endMs = Date.now() + 2 * SOON_MS;
  for (;;) {
    const value = await read();
    if (isGood(value)) return value;
    if (Date.now() > endMs) throw new Error(`it is still ${JSON.stringify(value)}`);
    await delay(50);
  }
}

async function nodesNow({ webPort }: LauncherProcess): Promise<{ state: string }[]> {
  return (await (await Lessee.send(webPort, 'GET', '/nodes')).json()) as { state: string }[];
}

const keys = () => readFile(authorizedKeys, 'utf8');
const restored = () => eventually(keys, (text) => text === foreign);

describe('a lessee with a key', () => {
  it.each(['is returned', 'expires'])('logs in until the lease %s, and other lines stay', async (how) => {
    const launcher = await start('only');
    const { lease, lessee, logsIn } = await newLessee(() => [launcher.webPort]);
    expect(await logsIn()).toBe(false);

    const active = await lease(how === 'expires' ? { ttl: 8 } : {});
    expect(active).toMatchObject({ state: 'active', nodes: [{}] });
    expect(await logsIn()).toBe(true);
    expect(await keys()).toContain(foreign);

    if (how === 'is returned') await lessee.end(active.id);
    await restored();
    expect(await logsIn()).toBe(false);
    expect((await lessee.get(active.id)).state).toBe('ended');
  });

  it.each([20, 120, 500])('whose launcher is killed %i ms after the request', async (ms) => {
    const first = await start('first');
    const second = await start('second');
    const { lease, lessee, logsIn, key } = await newLessee(() => [second.webPort]);
    const body = { labels: ['small'], ttl: 600, ssh_key: key };
    const request = async () => (await Lessee.send(first.webPort, 'POST', '/leases', body, key)).json();
    const requested = await eventually(request as () => Promise<{ id?: string }>, ({ id }) => id !== undefined);
    const id = String(requested.id);
    await delay(ms);
    await first.kill();

    const active = await eventually(
      () => lessee.get(id),
      ({ state }) => state === 'active',
    );
    expect(active.nodes).toHaveLength(1);
    expect(await logsIn()).toBe(true);
    await lessee.end(id);
    await restored();
    expect(await logsIn()).toBe(false);
    expect(await lease()).toMatchObject({ state: 'active' });
    for (const each of (await lessee.all()).filter(({ state }) => state === 'active')) await lessee.end(each.id);
    await restored();
  });

  it.each([0, 50, 300])('whose launcher is killed %i ms after the end', async (ms) => {
    const first = await start('first');
    const { lease, logsIn } = await newLessee(() => [first.webPort]);
    const { id } = await lease();
    expect(await logsIn()).toBe(true);
    void Lessee.send(first.webPort, 'DELETE', `/leases/${id}`).catch(() => undefined);
    await delay(ms);
    await first.kill();

    const second = await start('second');
    await new Lessee(() => [second.webPort]).end(id);

    await restored();
    expect(await logsIn()).toBe(false);
  });
});

describe('a host', () => {
  it('that is down when the key is to be removed is out of service until it is removed', async () => {
    const first = await start('first');
    const { lease, lessee, logsIn } = await newLessee(() => [first.webPort]);
    const { id } = await lease();
    await get().host(0).stop();
    await lessee.end(id);
    await first.kill();
    const second = await start('second');
    const answers = new Lessee(() => [second.webPort]);
    const readyNodes = async () => (await nodesNow(second)).filter(({ state }) => state === 'ready').length;
    await eventually(readyNodes, (count) => count === 0);
    expect(await keys()).toContain(`nodepool-lease-${id}`);

    await get().host(0).start();
    await eventually(readyNodes, (count) => count > 0);

    expect(await keys()).toBe(foreign);
    expect(await logsIn()).toBe(false);
    expect((await answers.get(id)).state).toBe('ended');
  });

  it('that does not know the key of the launcher is not leased with a key', async () => {
    const launcher = await start('only', strangerKey);
    const { lease, logsIn } = await newLessee(() => [launcher.webPort]);

    const failed = await lease();

    expect(failed).toMatchObject({ state: 'failed', nodes: [] });
    expect(failed.end_reason).toMatch(/refuses the launcher's key/);
    expect(await keys()).toBe(foreign);
    expect(await logsIn()).toBe(false);
  });
});

it('a lessee gives a key on the status page and logs in with it', async () => {
  const launcher = await start('page');
  const { lessee, key, logsIn } = await newLessee(() => [launcher.webPort]);
  const browser = await openBrowser();
  const page = await browser.newPage();
  page.setDefaultTimeout(2 * SOON_MS);
  await page.goto(`http://127.0.0.1:${launcher.webPort}/`);
  await page.getByText('Use a token').click();
  await page.getByLabel('Token of the web API').fill(LEASE_TOKEN);
  await page.getByRole('button', { name: 'Use' }).click();
  await page.getByRole('link', { name: 'Leases' }).click();
  await page.getByRole('radio', { name: /^small/ }).check();
  await page.getByLabel('Your SSH public key').fill('no key');
  await page.getByRole('button', { name: 'Lend me a machine' }).click();
  const refusal = await page.getByText(/^Refused: ssh_key is no public key/).textContent();
  await page.getByLabel('Your SSH public key').fill(key);
  await page.getByRole('button', { name: 'Lend me a machine' }).click();
  await page.getByRole('heading', { name: /^Log in to machine/ }).waitFor();
  const isIn = await logsIn();
  const [, id = ''] = /#\/leases\/(\w+)/.exec(page.url()) ?? [];
  await browser.close();
  await lessee.end(id);
  await eventually(logsIn, (isStillIn) => !isStillIn);

  expect(refusal).not.toContain('undefined');
  expect(isIn).toBe(true);
});
