import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../bin/nodepool-launcher.js', import.meta.url));

/** A driver whose provider begins something that goes wrong later, as its configuration says. */
const DRIVER = `
import { EventEmitter } from 'node:events';
const FAULTS = {
  rejection: () => { void (async () => { await new Promise((go) => setTimeout(go, 20)); throw new Error('on its own'); })(); },
  timer: () => { setTimeout(() => { throw new Error('on its own'); }, 20); },
  emitter: () => { const emitter = new EventEmitter(); setImmediate(() => emitter.emit('error', new Error('on its own'))); },
  abort: (signal) => { signal.addEventListener('abort', () => { throw new Error('on its own, at the end'); }); },
};
let starts = 0;
export const driver = {
  name: 'clumsy',
  apiVersion: 1,
  capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
  schema: { properties: { fault: {}, pools: {} } },
  getProviderConfig: (entry) => ({
    name: entry.name, driverName: 'clumsy', entry, maxConcurrency: -1, priority: undefined, pools: new Map(), managesImages: false,
  }),
  getProvider: (config) => ({
    config,
    start: async (signal) => { if (++starts <= 2) FAULTS[config.entry.fault](signal); },
    idle() {}, stop() {}, join: async () => {},
    labelReady: () => true,
    getRequestHandler: () => ({ imagesAvailable: () => true }),
    startNodeCleanup: () => undefined,
    cleanupLeakedResources: async () => {},
    errorLabels: () => new Set(),
  }),
};
`;

let dir = '';
let child: ChildProcess | undefined;
let output = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'nodepool-faults-'));
  const folder = join(dir, 'node_modules', 'nodepool-driver-clumsy');
  await mkdir(folder, { recursive: true });
  const manifest = { name: 'nodepool-driver-clumsy', version: '1.0.0', type: 'module', exports: './index.js' };
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ ...manifest, nodepool: { driver: 'clumsy', apiVersion: 1 } }),
  );
  await writeFile(join(folder, 'index.js'), DRIVER);
});

afterEach(async () => {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(dir, { recursive: true, force: true });
});

async function startLauncher(fault: string): Promise<ChildProcess> {
  output = '';
  const nodes = [{ name: 'fake-1', labels: ['small'], 'host-key-checking': false, username: 'root' }];
  const config = {
    webapp: { port: 0, listen_address: '127.0.0.1' },
    labels: [{ name: 'small' }],
    providers: [
      { name: 'odd', driver: 'clumsy', fault, pools: [] },
      { name: 'rack', driver: 'static', pools: [{ name: 'main', nodes }] },
    ],
  };
  const file = join(dir, 'nodepool.yaml');
  await writeFile(file, JSON.stringify(config));
  const stateDir = join(dir, 'state');
  const args = [PROGRAM, '-f', '-c', file, '--state-dir', stateDir];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Waits until the launcher has written something. */
function wrote(process: ChildProcess, pattern: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (part: string) => {
      output += part;
      if (pattern.test(output)) resolve();
    };
    for (const stream of [process.stdout, process.stderr]) stream?.setEncoding('utf8').on('data', look);
    process.on('close', () => reject(new Error(`it ended and never wrote ${String(pattern)}:\n${output}`)));
  });
}

it.each(['rejection', 'timer', 'emitter'])(
  'a launcher outlives an error of a driver that nothing catches (%s), and restarts its provider',
  async (fault) => {
    const launcher = (child = await startLauncher(fault));

    // The third start goes well; each fault is followed by a longer pause.
    await wrote(launcher, /(its provider is restarted.*[^]*){2}/);

    expect(output).toMatch(/ERROR.*its provider is restarted.*odd.*clumsy/);
    expect(launcher.exitCode).toBeNull();
    launcher.kill('SIGTERM');
    await once(launcher, 'close');
    expect(launcher.exitCode).toBe(0);
  },
);

it('an error that cannot be attributed to a driver is logged and ends the process', async () => {
  const launcher = (child = await startLauncher('abort'));
  await wrote(launcher, /Pool is registered/);

  launcher.kill('SIGTERM');
  await once(launcher, 'close');

  expect(output).toMatch(/Uncaught exception; the process exits.*error="on its own, at the end"/);
  expect(launcher.exitCode).toBe(1);
});
