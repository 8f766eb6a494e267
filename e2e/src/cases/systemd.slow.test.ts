import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LIMIT_MS = 60_000;

/** Prints each datagram of a Unix socket as one line of JSON. Node has no such sockets. */
const RECEIVER = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print(json.dumps("bound"), flush=True)
while True:
    print(json.dumps(s.recv(4096).decode()), flush=True)
`;
/** Replaces `systemd-notify` on machines without systemd. It writes to the same kind of socket. */
const NOTIFY = `#!/usr/bin/env python3
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect(os.environ["NOTIFY_SOCKET"])
s.send("\\n".join(sys.argv[1:]).encode())
`;

let folder: string;
let receiver: ChildProcess;
let service: ChildProcess | undefined;
let told: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-systemd-'));
  told = [];
  receiver = spawn('python3', ['-c', RECEIVER, join(folder, 'notify')], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  receiver.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    told.push(...lines.map((line) => JSON.parse(line) as string));
  });
  await expect.poll(() => told, { timeout: LIMIT_MS }).toContain('bound');
}, 2 * LIMIT_MS);

afterEach(async () => {
  for (const child of [service, receiver]) {
    if (child?.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

/** Starts the command of a unit with the configuration of this test. */
async function startUnit(name: string): Promise<{ child: ChildProcess; output: () => string }> {
  const unit = await readFile(`${ROOT}contrib/systemd/nodepool-${name}.service`, 'utf8');
  const command = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? [];
  const [program = '', ...args] = command.map((word) =>
    word.startsWith('/etc/') ? join(folder, 'nodepool.yaml') : word,
  );
  await mkdir(join(folder, 'bin'));
  await symlink(`${ROOT}packages/${name}/bin/nodepool-${name}.js`, join(folder, 'bin', `nodepool-${name}`));
  await writeFile(join(folder, 'bin', 'systemd-notify'), NOTIFY, { mode: 0o755 });
  const env = {
    ...process.env,
    // the systemd-notify of the machine comes first
    PATH: [process.env['PATH'], join(folder, 'bin')].join(delimiter),
    NOTIFY_SOCKET: join(folder, 'notify'),
    WATCHDOG_USEC: '200000',
    STATE_DIRECTORY: join(folder, 'state'),
  };
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

it(
  'the unit of the launcher starts, reloads and stops it, and systemd is notified of each step',
  async () => {
    await mkdir(join(folder, 'state'));
    await writeFile(join(folder, 'nodepool.yaml'), 'webapp: {port: 0, listen_address: 127.0.0.1}\nlabels: []\n');
    const { child, output } = await startUnit('launcher');
    service = child;
    const heard = (word: string) =>
      expect
        .poll(() => ({ heard: told.some((text) => text.split('\n').includes(word)), output: output() }), {
          timeout: LIMIT_MS,
        })
        .toMatchObject({ heard: true });

    await heard('READY=1');
    await heard('WATCHDOG=1');
    const before = told.filter((text) => text.includes('READY=1')).length;
    child.kill('SIGHUP'); // what ExecReload does
    await heard('RELOADING=1');
    await expect
      .poll(() => told.filter((text) => text.includes('READY=1')).length, { timeout: LIMIT_MS })
      .toBeGreaterThan(before);
    child.kill('SIGTERM');
    const [status] = (await once(child, 'exit')) as [number | null];

    expect(status).toBe(0);
    await heard('STOPPING=1');
    expect(told.findIndex((text) => text.includes('STATUS='))).toBeGreaterThan(0);
  },
  5 * LIMIT_MS,
);
