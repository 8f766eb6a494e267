import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openBrowser } from '../browser.js';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee, type LeaseAnswer } from '../lessee.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { simpleSetup, type StaticSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'nodepool-lease-certificate-'));
const ca = join(directory, 'lease_ca');
const principals = join(directory, 'principals');

const get = useStatic({
  sshd: {
    ...{ count: 1, keyTypes: ['ed25519'] },
    options: [`TrustedUserCAKeys ${ca}.pub`, `AuthorizedPrincipalsFile ${principals}/%u`, 'LogLevel VERBOSE'],
  },
});

beforeAll(async () => {
  const create = NodepoolProcess.start(['ca', 'create', ca]);
  expect(await create.end(), create.stderr).toBe(0);
  await mkdir(principals);
});

/** What the host takes for root. */
const takes = (...names: string[]) => writeFile(join(principals, 'root'), `${names.join('\n')}\n`);
const address = () => get().host(0).address;

beforeEach(() => takes(`root@${address()}`));

afterAll(() => rm(directory, { recursive: true, force: true }));

function setup(mode: 'user' | 'host' = 'host'): StaticSetup {
  const { providers } = simpleSetup([{ host: get().host(0), labels: ['small'], maxParallelJobs: 2 }]);
  return { leaseCaKey: ca, providers: providers.map((each) => ({ ...each, leaseCertificates: mode })) };
}

const start = (name: string, mode?: 'user' | 'host'): Promise<LauncherProcess> =>
  get().launch(setup(mode), { name, secure: { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] } });

/** A lessee with a fresh key. */
async function newLessee(ports: () => number[]) {
  const file = join(directory, `lessee-${Math.random().toString(16).slice(2)}`);
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  const key = (await readFile(`${file}.pub`, 'utf8')).trim();
  const lessee = new Lessee(ports);
  const { port, hostKeys } = get().host(0);
  await writeFile(`${file}.hosts`, `[${address()}]:${port} ${hostKeys[0]}\n`);
  const options = ['BatchMode=yes', 'IdentitiesOnly=yes', `UserKnownHostsFile=${file}.hosts`, 'ConnectTimeout=10'];
  const args = ['-F', 'none', '-i', file, '-p', String(port), ...options.flatMap((option) => ['-o', option])];
  return {
    ...{ lessee, key },
    lease: (more: object = {}) => lessee.lease(['small'], undefined, { ssh_key: key, ...more }),
    /** Whether the lessee can log in with this certificate. */
    logsIn: async ({ nodes: [node] }: LeaseAnswer, user = 'root'): Promise<boolean> => {
      await writeFile(`${file}-cert.pub`, `${node?.certificate ?? ''}\n`);
      const { stdout } = await run('ssh', [...args, '-l', user, '--', address(), 'echo inside']).catch(() => ({
        stdout: '',
      }));
      return stdout === 'inside\n';
    },
  };
}

describe('a certificate of an active lease', () => {
  it('logs in, and the log of the host names lease, owner and label, until the lease is over', async () => {
    const launcher = await start('only');
    const { lease, lessee, logsIn } = await newLessee(() => [launcher.webPort]);
    const active = await lease({ ttl: 8, owner: 'odd owner\u2028"(serial 0) CA' });

    expect(await logsIn(active)).toBe(true);
    const { log } = get().host(0);
    expect(log).toContain(
      `ID lease=${active.id} owner=odd%20owner%e2%80%a8%22%28serial%200%29%20CA label=small (serial`,
    );
    await expect.poll(async () => (await lessee.get(active.id)).state, { timeout: SOON_MS }).toBe('ended');

    expect(await logsIn(active)).toBe(false);
    expect(get().host(0).log).toMatch(/Certificate invalid: expired/);
    expect((await lessee.get(active.id)).nodes).toEqual([]);
  });

  it('is signed by any launcher with the key, and opens neither another host nor another user', async () => {
    const first = await start('first');
    const second = await start('second');
    const at = { ports: [first.webPort] };
    const { lease, lessee, logsIn } = await newLessee(() => at.ports);
    const active = await lease();
    await first.kill();
    at.ports = [second.webPort];
    const again = await lessee.get(active.id);

    expect(again.nodes[0]?.certificate).not.toBe(active.nodes[0]?.certificate);
    expect([await logsIn(active), await logsIn(again), await logsIn(again, 'daemon')]).toEqual([true, true, false]);
    await takes('root', 'root@192.0.2.7');
    expect(await logsIn(again)).toBe(false);
    await lessee.end(active.id);
  });

  it('opens every host that takes its user, where the operator wants that', async () => {
    await takes('root');
    const launcher = await start('only', 'user');
    const { lease, lessee, logsIn } = await newLessee(() => [launcher.webPort]);
    const active = await lease();

    expect(await logsIn(active)).toBe(true);
    const other = await newLessee(() => [launcher.webPort]);
    expect(await other.logsIn(active)).toBe(false);
    await lessee.end(active.id);
  });
});

describe('nodepool ssh', () => {
  /** Programs of a user whose configuration of ssh disturbs, and whose agent has more keys than a server lets try. */
  async function disturbingUser(launcher: LauncherProcess) {
    const home = join(directory, `user-${Math.random().toString(16).slice(2)}`);
    const bin = join(home, 'bin');
    const temporary = join(home, 'tmp');
    await mkdir(bin, { recursive: true });
    await mkdir(temporary);
    const lines = [
      ...['ForwardAgent yes', 'RemoteCommand echo hijacked', 'RequestTTY force', 'PermitLocalCommand yes'],
      ...[`LocalCommand touch ${home}/local`, `LocalForward 127.0.0.1:${launcher.webPort} 127.0.0.1:1`],
      ...['ExitOnForwardFailure yes', 'ControlMaster auto', `ControlPath ${home}/control`],
    ];
    await writeFile(join(home, 'config'), `${lines.join('\n')}\n`);
    const { stdout: ssh } = await run('sh', ['-c', 'command -v ssh']);
    await writeFile(join(bin, 'ssh'), `#!/bin/sh\nexec ${ssh.trim()} -F ${home}/config "$@"\n`, { mode: 0o700 });
    const { stdout } = await run('ssh-agent', ['-s', '-a', join(home, 'agent')]);
    onTestFinished(() => void process.kill(Number(/PID=(\d+)/.exec(stdout)?.[1])));
    const agent = { SSH_AUTH_SOCK: join(home, 'agent') };
    for (let i = 0; i < 8; i++) {
      const file = join(home, `key-${i}`);
      await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
      await run('ssh-add', ['-q', file], { env: { ...process.env, ...agent } });
      await rm(file);
      await rm(`${file}.pub`);
    }
    const server = { NODEPOOL_SERVER: `http://127.0.0.1:${launcher.webPort}`, NODEPOOL_TOKEN: LEASE_TOKEN };
    const env = { ...server, ...agent, TMPDIR: temporary, PATH: `${bin}:${process.env['PATH']}` };
    return { home, temporary, env };
  }

  it('logs in as its command line says, with a key for this lease alone, and leaves nothing of it', async () => {
    const { home, temporary, env } = await disturbingUser(await start('only'));
    const script = 'test -t 1 && echo terminal; echo "agent ${SSH_AUTH_SOCK:-none}"; exit 3';
    const ssh = NodepoolProcess.start(['ssh', 'small', '--', 'sh', '-c', script], env, home);
    onTestFinished(() => ssh.kill());

    expect(await ssh.end(), ssh.stderr).toBe(3);

    expect(ssh.stdout).toBe('agent none\n');
    expect(await readdir(temporary)).toEqual([]);
    expect(await readdir(home)).not.toContain('local');
    await get().assertClean();
  });

  it('run and request have a key for each lease too, which they show', async () => {
    const { home, temporary, env } = await disturbingUser(await start('only'));
    const script =
      'eval "$(node -p "JSON.parse(process.env.NODEPOOL_NODES)[0].ssh.replace(/^ssh/, process.argv[1])" "$1")" echo ok';
    const ssh = 'ssh -F none -o BatchMode=yes -o UserKnownHostsFile=$NODEPOOL_KNOWN_HOSTS';
    const job = NodepoolProcess.start(['run', 'small', '--', 'sh', '-c', script, 'sh', ssh], env, home);
    onTestFinished(() => job.kill());

    expect(await job.end(), job.stderr).toBe(0);

    expect(job.stdout).toBe('ok\n');
    expect(await readdir(temporary)).toEqual([]);
    const request = NodepoolProcess.start(['request', 'small', '--hold-for', '1s'], env, home);
    onTestFinished(() => request.kill());
    expect(await request.end(), request.stderr).toBe(0);
    expect(request.stdout).toMatch(/ssh -i \S+id_ed25519 -o IdentitiesOnly=yes -o CertificateFile=\S+-cert\.pub -p/);
    expect(await readdir(temporary)).toEqual([]);
  });

  it('uses an own key, and gets its certificate', async () => {
    const { home, env } = await disturbingUser(await start('only'));
    const own = join(home, 'own');
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', own]);
    const ssh = NodepoolProcess.start(['ssh', 'small', '--ssh-key', `${own}.pub`, '--', 'echo', 'ok'], env, home);
    onTestFinished(() => ssh.kill());

    expect(await ssh.end(), ssh.stderr).toBe(0);
    expect(ssh.stdout).toBe('ok\n');
    expect(await readdir(home)).toContain('own');
  });
});

it('a lessee gives a key on the status page, and logs in with the certificate that it shows', async () => {
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
  const certificate = await page.getByText(/^ssh-ed25519-cert-v01@openssh\.com /).textContent();
  const [, id = ''] = /#\/leases\/(\w+)/.exec(page.url()) ?? [];
  const active = await lessee.get(id);
  const isIn = await logsIn({ ...active, nodes: [{ id: '', external_id: null, certificate }] });
  await browser.close();
  await lessee.end(id);

  expect(refusal).not.toContain('undefined');
  expect(isIn).toBe(true);
});
