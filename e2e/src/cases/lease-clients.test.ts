import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN } from '../lessee.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const CLIENT = fileURLToPath(new URL('../../../packages/client', import.meta.url));
const SCRIPT = fileURLToPath(new URL('../../../examples/ci/shell/with-node.sh', import.meta.url));

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });
let launcher: LauncherProcess;
let directory: string;
let env: Record<string, string>;

beforeEach(async () => {
  const secure = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };
  launcher = await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')), { secure });
  directory = await mkdtemp(join(tmpdir(), 'nodepool-lease-clients-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'token'), `${LEASE_TOKEN}\n`);
  const server = `http://127.0.0.1:${launcher.webPort}`;
  env = { NODEPOOL_SERVER: server, NODEPOOL_TOKEN_FILE: join(directory, 'token') };
});

/** Runs a program in the directory. */
function run(program: string, args: readonly string[], more: Record<string, string> = {}) {
  return new Promise<{ status: number | string; stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: directory, env: { ...process.env, ...env, ...more } };
    execFile(program, args, options, (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stdout, stderr }));
  });
}

/**
 * A server that refuses the first requests for want of room, each with this `Retry-After`: curl repeats by itself what may be
 * repeated soon. @returns its address
 */
async function refusing(...retryAfter: number[]): Promise<string> {
  const lease = {
    id: 'lease1',
    state: 'active',
    nodes: [{ host: '192.0.2.7', port: 22, known_hosts: ['a ssh-ed25519 A'] }],
  };
  const server = createServer((_, response) => {
    const seconds = retryAfter.shift();
    if (seconds === undefined) return void response.end(JSON.stringify(lease));
    response.writeHead(429, { 'Retry-After': seconds }).end('{"status":429,"code":"nodes-being-deleted"}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function nodepool(...args: string[]) {
  const started = NodepoolProcess.start(args, env, directory);
  onTestFinished(() => started.kill());
  return { status: await started.end(), stdout: started.stdout, stderr: started.stderr };
}

describe('the example of @nodepool/client', () => {
  it('leases a node, also compiled for Node 20, and returns it at its end', async () => {
    const [, example = ''] = /```ts\n(.*?)```/s.exec(await readFile(join(CLIENT, 'README.md'), 'utf8')) ?? [];
    const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    const { outputText } = ts.transpileModule(example, { compilerOptions: options });
    await mkdir(join(directory, 'node_modules/@nodepool'), { recursive: true });
    await symlink(CLIENT, join(directory, 'node_modules/@nodepool/client'));
    await writeFile(
      join(directory, 'example.mjs'),
      outputText.replace('https://nl01:8005', env['NODEPOOL_SERVER'] ?? ''),
    );

    const { status, stdout, stderr } = await run(process.execPath, ['example.mjs'], { NODEPOOL_TOKEN: LEASE_TOKEN });

    expect([status, stdout], stderr).toEqual([0, `ssh -p ${get().host(0).port} -l root -- ${get().host(0).address}\n`]);
    await get().assertClean();
  });
});

describe('nodepool with a server', () => {
  it('runs a command with a node, and returns it', async () => {
    const show = 'echo "$NODEPOOL_NODE_0_IP $NODEPOOL_NODE_0_PORT"; cat "$NODEPOOL_KNOWN_HOSTS"; exit 7';

    const { status, stdout, stderr } = await nodepool('run', 'small', '--', 'sh', '-c', show);

    expect(status, stderr).toBe(7);
    expect(stdout).toContain(`${get().host(0).address} ${get().host(0).port}\n`);
    expect(stdout).toContain(' ssh-ed25519 ');
    await get().assertClean();
  });

  it('runs a command on the node in a copy of a directory, and fetches a file', async () => {
    await mkdir(join(directory, 'work'));
    await writeFile(join(directory, 'work/a'), 'content');
    const login = ['-i', get().sshd.clientKeyFile];

    const run = await nodepool('ssh', ...login, 'small', '--copy', 'work', '--fetch', 'b', '--', 'cp', 'a', 'b');

    expect(run.status, run.stderr).toBe(0);
    expect(await readFile(join(directory, 'b'), 'utf8')).toBe('content');
  });

  it('holds the node of a failed command, until it is released', async () => {
    const { status, stderr } = await nodepool('run', 'small', '--hold-on-failure=2h', '--', 'false');

    expect(status, stderr).toBe(1);
    const [, lease = ''] = /nodepool release (\w+) {3}# ends the hold/.exec(stderr) ?? [];
    const listed = await nodepool('list', '--mine', '--json');
    const [held] = JSON.parse(listed.stdout) as { id: string; expires: string }[];
    expect(held?.id).toBe(lease);
    expect(Date.parse(held?.expires ?? '') - Date.now()).toBeGreaterThan(7_000_000);
    expect((await nodepool('explain', lease)).stdout).toContain(`Lease ${lease} is active until `);
    expect((await nodepool('release', lease)).status).toBe(0);
    expect((await nodepool('explain', lease)).stdout).toBe(`Lease ${lease} is over: returned by e2e\n`);
  });

  it('says what is wrong', async () => {
    const cases = [
      [['run', 'smal', '--', 'true'], 1, 'did you mean'],
      [['run', 'small', '--force', '--', 'true'], 2, '--force needs ZooKeeper'],
      [['release', 'nosuch'], 1, 'There is no lease "nosuch"'],
      [['list', '--server', 'http://127.0.0.1:1'], 2, 'add --mine'],
      [['list', '--mine', '--token-file', '/dev/null'], 1, '/dev/null (--token-file, NODEPOOL_TOKEN_FILE) is empty'],
      [['list', '--mine', '--server', 'http://127.0.0.1:1', '--connect-timeout', '1s'], 1, 'ECONNREFUSED'],
    ] as const;

    for (const [args, status, text] of cases) {
      expect(await nodepool(...args)).toMatchObject({ status, stderr: expect.stringContaining(text) as string });
    }
  });
});

describe("nodepool on the launcher's computer", () => {
  it('needs no token, and has leases of its own', async () => {
    env = {};
    const place = ['--state-dir', join(dirname(launcher.configFile), 'state')];
    const owner = `uid:${process.getuid?.()}@`;

    const done = await nodepool('run', ...place, 'small', '--hold-on-failure=2h', '--', 'false');
    const [, lease = '', server = ''] = /nodepool release (\w+) (--server \S+) {3}#/.exec(done.stderr) ?? [];
    const listed = await nodepool('list', '--mine', '--json', '--detail', ...place);
    const explained = await nodepool('explain', lease, ...place);
    const released = await nodepool('release', lease, ...server.split(' '));

    expect(done.status, done.stderr).toBe(1);
    expect(JSON.parse(listed.stdout)).toEqual([
      expect.objectContaining({ id: lease, owner: expect.stringContaining(owner) as string }),
    ]);
    expect(explained.stdout, explained.stderr).toContain(`Lease ${lease} is active until `);
    expect(released.stderr).toContain(`Lease ${lease} is over: returned by ${owner}`);
    await get().assertClean();
  });
});

describe('the example for a shell', () => {
  it('runs a command with a node, and returns it', async () => {
    const { address, port } = get().host(0);
    const ssh = 'ssh -i "$KEY" -o UserKnownHostsFile="$NODEPOOL_KNOWN_HOSTS" -p "$NODEPOOL_NODE_0_PORT"';
    const line = `${ssh} -l "$NODEPOOL_NODE_0_USERNAME" -- "$NODEPOOL_NODE_0_IP" 'echo "$SSH_CONNECTION"; exit 5'`;

    const done = await run('sh', [SCRIPT, 'small', 'sh', '-c', line], { KEY: get().sshd.clientKeyFile });

    expect([done.status, done.stdout], done.stderr).toEqual([5, expect.stringContaining(` ${address} ${port}\n`)]);
    await get().assertClean();
  });

  it.each([
    ['shell', ['with-node.sh', 'small', 'echo', 'done']],
    ['Terraform', ['../terraform/lease.sh', 'create']],
  ])(
    'waits while nodes of earlier leases are being deleted, and reads the last answer: %s',
    async (_, [file, ...args]) => {
      const server = await refusing(60, 1);
      const own = { LEASE_KEY: 'key', LEASE_LABEL: 'small', LEASE_TTL: '60', NODEPOOL_SERVER: server };

      const { status, stdout, stderr } = await run('sh', [join(dirname(SCRIPT), file ?? ''), ...args], own);

      expect([status, stdout], stderr).toEqual([0, args[0] === 'create' ? '' : 'done\n']);
      expect(stderr.match(/Waiting until nodes of earlier leases are deleted/g)).toHaveLength(1);
    },
  );

  it('reports a refusal', async () => {
    const { status, stderr } = await run('sh', [SCRIPT, 'nosuch', 'true']);

    expect(status).toBe(1);
    expect(stderr).toContain('"code":"unknown-label"');
  });
});
