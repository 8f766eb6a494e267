// The builder process while ZooKeeper comes and goes: status pages of its web server.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@nodepool/test-servers';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { debian } from './support/builds.js';
import { BUILDER, Processes } from './support/processes.js';
import { useWorld } from './support/use-world.js';

const WAIT = { timeout: 50_000, interval: 50 };

const processes = new Processes();
const startWorld = useWorld();
let server: EmbeddedServer | undefined;

afterEach(async () => {
  await processes.end();
  await server?.close();
});

async function startBuilder(dir: string, zookeeper: number, web: number): Promise<void> {
  const file = join(dir, 'nodepool.yaml');
  await mkdir(join(dir, 'images'));
  await writeFile(
    file,
    `zookeeper-servers: [{host: 127.0.0.1, port: ${zookeeper}}]
zookeeper-timeout: 4
images-dir: ${join(dir, 'images')}
build-log-dir: ${join(dir, 'logs')}
builder-webapp: {port: ${web}}
diskimages: []
`,
  );
  const env = { ...process.env, TMPDIR: dir };
  processes.add(spawn(process.execPath, [BUILDER, '-f', '-c', file], { stdio: 'ignore', env }));
}

/** Responses of `/ready` and `/healthz` without details. */
async function saidOn(port: number): Promise<object> {
  const [ready, health] = await Promise.all(
    ['ready', 'healthz'].map((page) => fetch(`http://127.0.0.1:${port}/${page}`)),
  );
  const { status, conditions } = (await health?.json()) as {
    status: string;
    conditions: { type: string; reason: string }[];
  };
  return {
    ready: `${ready?.status} ${(await ready?.text())?.trim()}`,
    health: `${health?.status} ${status}`,
    connection: conditions.filter(({ type }) => type === 'NotConnected').map(({ reason }) => reason),
  };
}

// Ends: NotConnected Lost, NotConnected Suspended
it('a builder reports that ZooKeeper is unavailable, at its start and later', { timeout: 120_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'builder-away-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const [zookeeper = 0, web = 0] = await freePorts(2);
  const says = (expected: object) => vi.waitFor(async () => expect(await saidOn(web)).toMatchObject(expected), WAIT);
  const begin = async () => (server = await startEmbeddedServer({ dataDir: join(dir, 'zk'), port: zookeeper }));

  await startBuilder(dir, zookeeper, web);
  const ready = expect.stringMatching(/^500 Not ready: no connection to ZooKeeper, /) as string;
  await says({ ready, health: '200 starting', connection: [] });
  await begin();
  await says({ ready: '200 OK', health: '200 ok', connection: [] });
  await server?.close();
  await says({ ready, health: '200 degraded', connection: ['Suspended'] });
  await says({ ready, health: '200 degraded', connection: ['Lost'] });
  await begin();
  await says({ ready: '200 OK', health: '200 ok', connection: [] });
});

it('a builder that stops does not wait for ZooKeeper to store the end of an upload', { timeout: 120_000 }, async () => {
  const of = await startWorld({ diskimages: debian(), cloud: 'upload-time: 3600' });
  const builder = await of.builder();
  await vi.waitFor(() => expect(builder.running.uploads).toMatchObject([{ phase: 'uploading' }]), WAIT);
  await of.stopZooKeeper();

  const startMs = Date.now();
  await builder.drain(Infinity);

  expect(Date.now() - startMs).toBeLessThan(30_000);
  expect(of.said.join('\n')).toContain('warn Timed out waiting for work to end');
});
