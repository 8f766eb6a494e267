import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { newLeaseToken, encodeLeaseToken, LEASE_TOKENS_ROOT, leaseTokenPath } from '@nodepool/zk-protocol';
import { listenFor, PROGRAM, TERMINAL } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();

/** Sets the title of a terminal, and clears it in two ways. */
const HOSTILE = 'bad\u001b]0;title\u0007\u001b[2J\u009b2J';
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/** Runs `nodepool` on a terminal. @returns what it shows so far, and its end */
const show = (...args: string[]) => showOn(100, ...get().options(), ...args);

function showOn(columns: number, ...args: string[]) {
  const child = spawn('python3', [TERMINAL, process.execPath, PROGRAM, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TERMINAL_COLUMNS: String(columns) },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    shown: () => output,
    type: (text: string) => child.stdin.write(`${JSON.stringify(text)}\n`),
    end: once(child, 'close'),
  };
}

const controls = (text: string) => text.replace(/\r?\n/g, '').match(/\p{Cc}/gu) ?? [];

it.each([
  [['list', '--detail']],
  [['list', '--detail', '--no-headers']],
  [['list', '--detail', '--format', 'json']],
  [['list', '--detail', '--format', 'yaml']],
  [['list', '--fields', 'id,launch_error', '--format', 'yaml']],
  [['request-list', '--detail']],
  [['info', 'rack']],
  [['cancel', `no${HOSTILE}`]],
])('%j shows texts of others on a terminal, and lets none drive it', async (argv) => {
  await get().createNode({
    comment: HOSTILE,
    holdJob: HOSTILE,
    launchError: HOSTILE,
    hostname: HOSTILE,
    externalId: HOSTILE,
  });
  await get().createRequest(['small'], { requestor: HOSTILE });

  const { shown, end } = show(...argv);
  await end;

  expect(controls(shown())).toEqual([]);
  expect(shown()).toMatch(/bad|\+---/);
});

it('--watch clears the terminal before each refresh, but texts from outside cannot', async () => {
  await get().createNode({ comment: HOSTILE });

  const { shown, type, end } = show('list', '--detail', '--watch', '0.2s');
  await expect.poll(() => shown().split('Every 0.2 s').length, { timeout: 50_000 }).toBeGreaterThan(2);
  type('\u0003');
  await end;

  const [before = '', ...looks] = shown().split(CLEAR_SCREEN);
  expect(before).toBe('');
  expect(looks.length).toBeGreaterThan(1);
  expect(controls(looks.join('').replaceAll('^C', ''))).toEqual([]);
});

it.each(['table', 'yaml', 'csv', 'json'])(
  '--format %s writes no control characters of others to a pipe',
  async (format) => {
    await get().createNode({ comment: HOSTILE, holdJob: HOSTILE, launchError: HOSTILE, hostname: HOSTILE });

    const child = spawn(process.execPath, [PROGRAM, ...get().options(), 'list', '--detail', '--format', format], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await once(child, 'close');

    expect(output).toContain('bad');
    expect(controls(output)).toEqual([]);
  },
);

/** Values as wide as those of large installations. */
async function createWideRecords(): Promise<string[]> {
  const node = await get().createNode({
    ...{
      provider: 'region-one-large',
      labels: ['ubuntu-noble-large'],
      externalId: 'f3a1c2d4-5b6e-4f70-8192-a3b4c5d6e7f8',
    },
    ...{ publicIpv4: '203.113.115.117', publicIpv6: '2001:db8:1234:5678:9abc:def0:1234:5678', state: 'deleting' },
  });
  const fields = { requestor: 'zuul-scheduler.example.org', nodeIds: [node], eventId: 'a'.repeat(32) };
  const request = await get().createRequest(['ubuntu-noble-large', 'small'], fields);
  const rights = {
    owner: 'platform-engineering',
    labels: ['ubuntu-*', 'debian-*'],
    maxNodes: 100,
    tenantName: 'example',
  };
  const token = newLeaseToken(
    {
      ...rights,
      name: 'continuous-integration',
      hash: 'ab',
      maxTtlMs: 3_600_000,
      highestPriority: 100,
      admin: true,
      endTimeMs: 4e12,
    },
    Date.now(),
  );
  await get().zk.ensurePath(LEASE_TOKENS_ROOT);
  await get().zk.create(leaseTokenPath(token.name), encodeLeaseToken(token));
  return [node, request, token.name];
}

const HOST = {
  ...{ provider: 'region-one-large', pool: 'main', host: '203.113.115.117', port: 22022, username: 'zuul-worker' },
  ...{
    labels: ['ubuntu-noble-large'],
    slots: 2,
    health: 'down',
    reason: 'HostKeyMismatch',
    message: 'm',
    last_check: 5,
  },
  ...{
    down_since: 5,
    nodes: ['0000000007', '0000000008'].map((id) => ({ node: id, state: 'in-use', user: 'alice@desk' })),
  },
};

it('tables fit a terminal of 80 columns with whole ids, and name the columns that do not', async () => {
  const [node = '', request = '', token = ''] = await createWideRecords();
  const build = '2f0c5b6d7e8f4a3b9c1d0e2f4a6b8c0d';
  await get().createBuild({ builder: 'nb01.example.org', formats: ['qcow2', 'raw', 'vhd'] }, build);
  const externalId = 'f3a1c2d4-5b6e-4f70-8192-a3b4c5d6e7f8';
  await get().createUpload({ externalId, externalName: 'debian-12-1600000000' }, build);
  const url = await listenFor({ '/api/v1/hosts': [HOST] });
  const commands: [string[], string][] = [
    [[...get().options(), 'list'], node],
    [[...get().options(), 'request-list'], request],
    [[...get().options(), 'token', 'list'], token],
    [['hosts', '--url', url], '0000000007'],
    [[...get().options(), 'image-list'], build],
    [[...get().options(), 'dib-image-list'], `debian-12-${build}`],
    [[...get().options(), 'labels'], 'ubuntu-noble-large'],
  ];
  for (const [argv, id] of commands) {
    const { shown, end } = showOn(80, ...argv);
    await end;

    const table = shown()
      .split(/\r?\n/)
      .filter((line) => /^[|+]/.test(line));
    expect(table.length, argv.join(' ')).toBeGreaterThan(4);
    expect(Math.max(...table.map((line) => line.length)), table.join('\n')).toBeLessThanOrEqual(80);
    expect(table.join('\n')).toMatch(new RegExp(`[ ,|]${id}[ ,…]`));
    expect(shown()).toMatch(/Columns that do not fit the terminal: \w+/);
  }
});
