import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { elasticConfig, oneProvider } from '../elastic-config.js';
import { FakeCloudProcess } from '../fake-cloud.js';
import { LauncherProcess } from '../launcher-process.js';
import { openSession } from '../session.js';
import { ZuulClient } from '../zuul-client.js';

const DRAIN_SECONDS = 4;
/** Time to start a signal handler and to end a process on a busy machine. */
const SLACK_MS = 10_000;

let dir = '';
let tests = 0;
let zookeeper: ZooKeeperHandle;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'np-stop-'));
  zookeeper = await startZooKeeper();
});
beforeEach(async () => {
  await zookeeper.restart();
});
afterAll(async () => {
  await zookeeper.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Starts a launcher whose cloud takes a minute to create an instance. */
async function startLauncher(): Promise<LauncherProcess> {
  const ownDir = join(dir, String(++tests));
  const cloud = await FakeCloudProcess.start(join(ownDir, 'cloud'));
  onTestFinished(() => cloud.stop());
  const setup = oneProvider({}, { cloudSettings: { 'create-time': 60 } });
  const config = {
    'zookeeper-servers': zookeeper.servers.map(({ host, port }) => ({ host, port })),
    ...elasticConfig(setup, cloud.dir),
  };
  const args = ['--drain-timeout', String(DRAIN_SECONDS)];
  const launcher = await LauncherProcess.start(join(ownDir, 'launcher'), 'launcher', config, {}, args);
  onTestFinished(() => launcher.kill());
  return launcher;
}

/** Sends TERM. @returns time until the launcher ended, in milliseconds */
async function timeToStop(launcher: LauncherProcess): Promise<number> {
  const sentMs = performance.now();
  await launcher.stop();
  return performance.now() - sentMs;
}

it('TERM ends a launcher that has never reached ZooKeeper', async () => {
  await zookeeper.kill();
  const launcher = await startLauncher();
  await launcher.whenLogged(/Web server listening/);

  const ms = await timeToStop(launcher);

  expect(launcher.exitCode).toBe(0);
  expect(ms).toBeLessThan(DRAIN_SECONDS * 1_000 + SLACK_MS);
  expect(launcher.log).toMatch(/Not everything could be finished in time.*zookeeper="?disconnected/);
});

it.each([
  ['was killed', () => zookeeper.kill()],
  ['does not answer', () => Promise.resolve(zookeeper.pause())],
])('TERM ends an idle launcher whose ZooKeeper %s', async (_what, take) => {
  const launcher = await startLauncher();
  await launcher.whenReady();
  await take();

  const ms = await timeToStop(launcher);

  expect(launcher.exitCode).toBe(0);
  expect(ms).toBeLessThan(DRAIN_SECONDS * 1_000 + SLACK_MS);
  expect(launcher.log).toMatch(/Not everything could be (finished|closed) in time/);
  expect(launcher.log).toContain('Service stopped');
});

it('TERM ends a launcher during a launch although ZooKeeper stops answering', async () => {
  const launcher = await startLauncher();
  await launcher.whenReady();
  const zk = await openSession(zookeeper);
  onTestFinished(() => zk.close());
  await new ZuulClient(zk).submit(['small']);
  await launcher.whenLogged(/instance-submitted|Accepted request/i);

  const stopping = timeToStop(launcher);
  await launcher.whenLogged(/Stopping/);
  zookeeper.pause();

  expect(await stopping).toBeLessThan(DRAIN_SECONDS * 1_000 + SLACK_MS);
  expect(launcher.exitCode).toBe(0);
  expect(launcher.log).toMatch(/Not everything could be finished in time.*requests in progress/);
});
