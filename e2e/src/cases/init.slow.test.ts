import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPUTE_V1 } from '@nodepool/driver-gce';
import { FakeCompute, FakeTokens } from '@nodepool/fake-compute';
import { startSshd, type SshdHandle } from '@nodepool/test-servers';
import { systemClock } from '@nodepool/zk-protocol';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { NODEPOOL_PROGRAM, NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';

const TERMINAL = fileURLToPath(new URL('../../../packages/cli/test/terminal.py', import.meta.url));
/** Escape sequences that readline prints to move the cursor and clear the line. */
const MOVES = /\p{Cc}\[\d*[GJK]/gu;
const CTRL_C = '\u0003';

let sshd: SshdHandle;
let directory = '';
let file = '';

beforeAll(async () => void (sshd = await startSshd({ count: 3, keyTypes: ['ed25519', 'ecdsa'] })));
afterAll(() => sshd.stop());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-init-'));
  file = join(directory, 'nodepool.yaml');
  return () => rm(directory, { recursive: true });
});

const machine = (index: number) => `root@${sshd.hosts[index]?.address}:${sshd.hosts[index]?.port}`;
const key = () => ['--identity', sshd.clientKeyFile];

async function init(...args: string[]) {
  const process = NodepoolProcess.start(['init', ...args], { HOME: directory }, directory);
  process.endInput();
  return { status: await process.end(), stdout: process.stdout, stderr: process.stderr };
}

/** Runs `nodepool init` on a terminal. */
function dialogue(...args: string[]) {
  const child = spawn('python3', [TERMINAL, process.execPath, NODEPOOL_PROGRAM, 'init', ...args], {
    ...{ cwd: directory, env: { ...process.env, HOME: directory }, stdio: ['pipe', 'pipe', 'inherit'] },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (shown += text.replaceAll(MOVES, '')));
  const end = once(child, 'close');
  return {
    type: (text: string) => child.stdin?.write(`${JSON.stringify(text)}\n`),
    asks: (question: RegExp) => expect.poll(() => shown, { timeout: SOON_MS, interval: 20 }).toMatch(question),
    end: async () => {
      await end;
      return /@ended (?<status>-?\d+)/.exec(shown)?.groups?.['status'];
    },
  };
}

describe('nodepool init with machines', () => {
  it('checks them, writes a valid file, and prints the command that starts the service', async () => {
    const { status, stdout, stderr } = await init(machine(0), machine(1), ...key(), '--label', 'debian');

    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toContain(`${machine(0)}: reached, host keys read, logged in`);
    expect(stdout).toContain('nodepool-launcher -f -c nodepool.yaml');
    expect(stdout).toMatch(/^ {2}(npx )?nodepool ssh --identity \S+ debian -- uname -a$/m);
    const text = await readFile(file, 'utf8');
    expect(text).toContain(`host-key: ${sshd.hosts[1]?.hostKeys[0]}`);
    expect(text).toContain('labels: debian');
    expect(await readdir(directory)).toEqual(['nodepool.yaml']);
  });

  it('shows what machines lack to take certificates of leases, and finds that they do', async () => {
    const ca = join(directory, 'lease_ca');
    const create = NodepoolProcess.start(['ca', 'create', ca]);
    expect(await create.end(), create.stderr).toBe(0);
    const [host] = sshd.hosts;

    const lacking = await init(machine(0), machine(1), ...key(), '--lease-ca', ca, '-c', file);

    expect(lacking.status, lacking.stderr).toBe(0);
    expect(lacking.stdout).toContain(`do not take certificates of leases yet: ${machine(0)}, ${machine(1)}`);
    expect(lacking.stdout).toContain(`/etc/ssh/lease_principals/root
  root@${host?.address}
`);
    expect(await readFile(file, 'utf8')).toContain(`lease-ca-key: ${ca}`);
    const line = /cert-authority,principals="USER@HOST" .*/.exec(lacking.stdout)?.[0] ?? '';
    const own = await readFile(`${sshd.clientKeyFile}.pub`, 'utf8');
    await writeFile(
      `${sshd.clientKeyFile}.pub`,
      `${own}${line.replace('USER@HOST', `root@${host?.address}`)}
`,
    );
    onTestFinished(() => writeFile(`${sshd.clientKeyFile}.pub`, own));
    await rm(file);

    const { stdout } = await init(machine(0), ...key(), '--lease-ca', ca, '-c', file);

    expect(stdout).toContain('all of them take certificates of leases');
  });

  it('reports the fault of each machine and writes no file', async () => {
    const wrong = ['root@127.0.0.1:1', 'root@no-such-host.invalid', machine(0)];

    const { status, stderr } = await init(...wrong);

    expect(status).toBe(1);
    expect(stderr).toContain('root@127.0.0.1:1: port 1 does not answer');
    expect(stderr).toContain('no address is known for the name "no-such-host.invalid"');
    expect(stderr).toContain(`${machine(0)}: the login as root was refused: put your public key into`);
    expect(stderr).toContain('3 of 3 machines cannot be used; no file was written');
    expect(await readdir(directory)).toEqual([]);
  });

  it('leaves out failing machines if requested', async () => {
    expect(await init(machine(0), 'root@127.0.0.1:1', ...key())).toMatchObject({ status: 1 });
    expect(await init(machine(0), 'root@127.0.0.1:1', ...key(), '--skip-failed')).toMatchObject({ status: 0 });
    expect(await readFile(file, 'utf8')).not.toContain('127.0.0.1:1');
  });

  it('refuses to overwrite a file before it contacts any machine', async () => {
    await writeFile(file, 'mine');

    const { status, stderr, stdout } = await init(machine(0), ...key());

    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain('nodepool.yaml exists: remove it, or name another file with -c');
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  it('refuses a missing directory before it contacts any machine', async () => {
    const { status, stderr, stdout } = await init(machine(0), ...key(), '-c', 'no/such/nodepool.yaml');

    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('there is no directory no/such; make it with mkdir -p');
  });

  it('checks a thousand machines in parallel', async () => {
    const many = Array.from(
      { length: 1_000 },
      (_, index) => `root@127.9.${Math.floor(index / 250)}.${(index % 250) + 1}:1`,
    );

    const { status, stderr } = await init(...many, machine(0), ...key(), '--skip-failed');

    expect(status, stderr).toBe(0);
    expect(stderr).not.toContain('MaxListenersExceededWarning');
    expect(stderr.match(/does not answer/g)).toHaveLength(1_000);
  });

  it.each([
    [[], 'name the machines to lend'],
    [['build01'], '"build01" is not a machine'],
    [['a@b', '--cloud', 'gce'], 'name machines, or --cloud, not both'],
    [['a@b', '--label', 'a b'], '"a b" is not a label'],
    [['a@b', '--set', 'image=x'], '--set needs --cloud'],
  ])('%j ends with status 2', async (args, message) => {
    const { status, stderr } = await init(...args);

    expect(status).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('nodepool init on a terminal', () => {
  it('asks for machines until an empty answer, then for a label', async () => {
    const { type, asks, end } = dialogue(...key());
    await asks(/machines: $/);
    type('nonsense\r');
    await asks(/"nonsense" is not a machine.*\nmachines: $/s);
    type(`${machine(0)} ${machine(1)}\r`);
    await asks(/more machines \(empty: done\): $/);
    type('\r');
    await asks(/label that jobs ask for \[linux\]: $/);
    type('small\r');

    expect(await end()).toBe('0');
    expect(await readFile(file, 'utf8')).toContain('labels: small');
  });

  it.each([0, 1, 2])('leaves no file after Ctrl-C at question %i', async (question) => {
    const { type, asks, end } = dialogue(...key());
    await asks(/machines: $/);
    if (question > 0) type(`${machine(0)}\r`);
    if (question > 0) await asks(/more machines .*: $/);
    if (question > 1) type('\r');
    if (question > 1) await asks(/label .*: $/);
    type(CTRL_C);

    expect(await end()).toBe('130');
    expect(await readdir(directory)).toEqual([]);
  });

  it('leaves no file when the input ends', async () => {
    const { type, asks, end } = dialogue();
    await asks(/machines: $/);
    type('\u0004');

    expect(await end()).toBe('1');
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('nodepool init --cloud', () => {
  let fake: FakeCompute;
  let answers: string[] = [];

  beforeEach(async () => {
    fake = await FakeCompute.start({ description: COMPUTE_V1, clock: systemClock });
    fake.setFamily('debian-cloud', 'debian-12', 'debian-12-v2');
    const tokens = await FakeTokens.start(fake.tokens);
    const credentials = join(directory, 'key.json');
    await writeFile(credentials, JSON.stringify(tokens.serviceAccount), { mode: 0o600 });
    answers = ['--set', `endpoint=${fake.endpoint}`, '--set', `credentials=${credentials}`];
    return async () => {
      await tokens.stop();
      await fake.stop();
    };
  });

  it('writes a provider with the chosen image and machine type', async () => {
    const chosen = ['image=debian-cloud/debian-12', 'machine-type=e2-standard-2', 'key=ssh-ed25519 AAAA'];

    const { status, stderr } = await init('--cloud', 'gce', ...answers, ...chosen.flatMap((one) => ['--set', one]));

    expect(stderr).toBe('');
    expect(status).toBe(0);
    const text = await readFile(file, 'utf8');
    for (const line of ['driver: gce', 'project: test-project', 'region: us-central1', 'image-family: debian-12'])
      expect(text).toContain(line);
    expect(fake.violations).toEqual([]);
  });

  it('lists the choices for a missing answer', async () => {
    const { status, stderr } = await init('--cloud', 'gce', ...answers, '--set', 'image=debian-cloud/debian-12');

    expect(status).toBe(1);
    expect(stderr).toContain('add --set machine-type=VALUE. There are: e2-standard-2 (2 CPUs, 8192 MiB)');
    expect(await readdir(directory)).toEqual(['key.json']);
  });

  it('accepts a number, a name or a part of a name on a terminal', async () => {
    const { type, asks, end } = dialogue('--cloud', 'gce', ...answers);
    await asks(/project \[test-project\]: $/);
    type('\r');
    await asks(/machine type:\r\n +1 +e2-standard-2 .*machine type: $/s);
    type('e2\r');
    await asks(/machine type with "e2":.*machine type: $/s);
    type('1\r');
    await asks(/user to log in with \[nodepool\]: $/);
    type('\r');
    await asks(/SSH public key of this user: $/);
    type('ssh-ed25519 AAAA\r');
    await asks(/label that jobs ask for \[linux\]: $/);
    type('\r');

    expect(await end()).toBe('0');
    expect(await readFile(file, 'utf8')).toContain('instance-type: e2-standard-2');
  });

  it('names the places where it looked for OpenStack credentials', async () => {
    const { status, stderr } = await init('--cloud', 'openstack');

    expect(status).toBe(1);
    expect(stderr).toContain(`No OpenStack credentials: there is no cloud in`);
    expect(stderr).toContain(join(directory, '.config/openstack/clouds.yaml'));
  });
});
