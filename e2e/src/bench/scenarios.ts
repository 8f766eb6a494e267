import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { connect, encodeNode, newNode } from '@nodepool/zk-protocol';
import { startZooKeeper } from '@nodepool/test-servers';
import { FakeCloudProcess } from '../fake-cloud.js';
import { cloudConfig, type CloudSetup } from './cloud-config.js';
import type { LoadResult } from './lean-client.js';
import type { LoadOptions } from './load-client.js';
import { cpuMs, rssMib } from './process-usage.js';
import { measureTakeover } from './takeover.js';
import { runLoad, startFloor, startLauncher, staticConfig, type Slots, type Subject } from './subjects.js';

/** One load to measure. */
export interface Scenario {
  name: string;
  server: 'zookeeper' | 'embedded';
  labels: string[];
  inFlight: number;
  requests: number;
  slots: Slots;
  /** Number of waiting requests, for label `busy`, which has no free slot. */
  waiting?: number;
  /** Also measure the floor. Only for single-label scenarios. */
  floor?: boolean;
  /** Requests before the measurement. Default: as many as are measured if there is a floor, else a tenth. */
  warmUp?: number;
  /** Serve from this cloud instead of the slots. */
  cloud?: CloudSetup;
  /** Requests a second that the cloud can carry. */
  capacityPerSecond?: number;
}

/** Results for one subject. */
export interface Measurement extends LoadResult {
  scenario: string;
  subject: string;
  zkRequestsPerRequest: number;
  zkOperationsPerRequest: number;
  cpuMsPerRequest: number;
  rssMib: number;
  /** Share of what the cloud can carry. */
  shareOfCapacity?: number | undefined;
  /** Greatest number of instances in the cloud at the same time. */
  mostInstances?: number | undefined;
}

/** Starts a server for one measurement, so that it starts empty. */
export async function withServer<T>(
  kind: Scenario['server'],
  use: (connectString: string, dir: string) => Promise<T>,
  javaOptions?: string[],
): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-bench-'));
  const server = await startServer(kind, join(dir, 'zk'), javaOptions);
  try {
    return await use(server.connectString, dir);
  } finally {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function startServer(kind: Scenario['server'], dataDir: string, javaOptions?: string[]) {
  if (kind === 'zookeeper') return startZooKeeper(javaOptions && { javaOptions });
  const server = await startEmbeddedServer({ dataDir });
  return { connectString: `${server.host}:${server.port}`, stop: () => server.close() };
}

/** Starts a fake cloud, calls `prepare`, and starts a launcher that uses the cloud. */
export async function withCloud<T>(
  setup: CloudSetup,
  use: (started: { connectString: string; subject: Subject; cloud: FakeCloudProcess }) => Promise<T>,
  prepare: (cloud: FakeCloudProcess, connectString: string) => void = () => undefined,
): Promise<T> {
  return withServer('zookeeper', async (connectString, dir) => {
    const cloud = await FakeCloudProcess.start(join(dir, 'cloud'));
    try {
      prepare(cloud, connectString);
      const subject = await startLauncher(dir, (port) => cloudConfig(connectString, cloud.dir, setup, port));
      try {
        return await use({ connectString, subject, cloud });
      } finally {
        await subject.kill('SIGKILL');
      }
    } finally {
      await cloud.stop();
    }
  });
}

async function measureOnCloud(scenario: Scenario, setup: CloudSetup): Promise<Measurement> {
  return withCloud(setup, async ({ connectString, subject, cloud }) => {
    const measurement = await measureSubject(scenario, subject, connectString);
    const { capacityPerSecond } = scenario;
    const share = capacityPerSecond && measurement.requestsPerSecond / capacityPerSecond;
    return { ...measurement, mostInstances: cloud.most, shareOfCapacity: share };
  });
}

async function measureOnSlots(scenario: Scenario): Promise<Measurement> {
  return withServer(scenario.server, async (connectString, dir) => {
    const slots = { ...scenario.slots, ...(scenario.waiting ? { busy: 1 } : {}) };
    const subject = await startLauncher(dir, (port) => staticConfig(connectString, slots, port));
    try {
      await fillQueue(connectString, scenario.waiting ?? 0);
      return await measureSubject(scenario, subject, connectString);
    } finally {
      await subject.kill();
    }
  });
}

/** Measures the launcher, and the floor if the scenario has one. */
export async function measure(scenario: Scenario): Promise<Measurement[]> {
  const { cloud } = scenario;
  const results = [cloud ? await measureOnCloud(scenario, cloud) : await measureOnSlots(scenario)];
  if (!scenario.floor) return results;
  const floor = await withServer(scenario.server, async (connectString) => {
    const slot = newNode(
      { state: 'ready', labels: ['a'], provider: 'bench', pool: 'main', hostname: 'fake-a-0', slot: 0 },
      Date.now(),
    );
    const subject = await startFloor(connectString, scenario.slots['a'] ?? 0, encodeNode(slot).toString());
    try {
      return await measureSubject(scenario, subject, connectString);
    } finally {
      await subject.kill('SIGKILL');
    }
  });
  return [...results, floor];
}

async function measureSubject(scenario: Scenario, subject: Subject, connectString: string): Promise<Measurement> {
  const { labels, inFlight, requests } = scenario;
  const before = { traffic: { requests: 0, operations: 0, writes: 0 }, cpu: 0 };
  // compare compiled code: the floor is so small that V8 compiles it at once
  const warmUp = scenario.warmUp ?? (scenario.floor ? requests : undefined);
  const options: LoadOptions = { connectString, labels, inFlight, requests, warmUp };
  const result = await runLoad<LoadResult>(options, async () => {
    before.cpu = await cpuMs(subject.pid);
    before.traffic = await subject.traffic();
  });
  const cpu = (await cpuMs(subject.pid)) - before.cpu;
  const traffic = await subject.traffic();
  return {
    ...result,
    scenario: scenario.name,
    subject: subject.name,
    zkRequestsPerRequest: (traffic.requests - before.traffic.requests) / requests,
    zkOperationsPerRequest: (traffic.operations - before.traffic.operations) / requests,
    cpuMsPerRequest: cpu / requests,
    rssMib: await rssMib(subject.pid),
  };
}

/** Takes the only `busy` slot with one request, and makes `count` requests wait for it. */
async function fillQueue(connectString: string, count: number): Promise<void> {
  if (count === 0) return;
  const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
  const body = (state: string) =>
    JSON.stringify({
      state,
      state_time: Date.now() / 1000,
      node_types: ['busy'],
      requestor: 'queue',
      provider: null,
      event_id: null,
      requestor_data: null,
      relative_priority: 0,
      tenant_name: 't',
    });
  for (let i = 0; i <= count;) {
    const batch = Array.from({ length: Math.min(500, count + 1 - i) }, () =>
      zk.create('/nodepool/requests/100-', body('requested'), { sequential: true }),
    );
    i += batch.length;
    await Promise.all(batch);
  }
  await delay(1_000);
  await zk.close();
}

/** Time that requests of a lost launcher wait for another one, in ms. */
export async function measureTakeovers() {
  return withServer('zookeeper', async (connectString, dir) => {
    const subject = await startLauncher(dir, (port) => staticConfig(connectString, { a: 10 }, port));
    try {
      return await measureTakeover(connectString, 1_000);
    } finally {
      await subject.kill();
    }
  });
}

/** Start, restart and idle costs with many nodes. */
export async function measureIdle(nodes: number, idleSeconds: number) {
  return withServer('zookeeper', async (connectString, dir) => {
    const config = (port: number) => staticConfig(connectString, { a: nodes }, port);
    const first = await startLauncher(dir, config);
    await settle(connectString, nodes);
    await first.kill();
    const again = await startLauncher(dir, config);
    await delay(2_000);
    const before = await cpuMs(again.pid);
    await delay(idleSeconds * 1000);
    const cpu = (await cpuMs(again.pid)) - before;
    const result = {
      nodes,
      restartMs: again.startMs,
      idleCpuMsPerMinute: (cpu * 60) / idleSeconds,
      rssMib: await rssMib(again.pid),
    };
    await again.kill();
    return result;
  });
}

async function settle(connectString: string, nodes: number): Promise<void> {
  const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
  while ((await zk.getChildren('/nodepool/nodes')).length < nodes) await delay(50);
  await zk.close();
}

/** From the start of the process to `/ready`, with ten nodes; the best of three. */
export async function measureStart(): Promise<number> {
  return withServer('zookeeper', async (connectString, dir) => {
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      const subject = await startLauncher(dir, (port) => staticConfig(connectString, { a: 10 }, port));
      times.push(subject.startMs);
      await subject.kill();
    }
    return Math.min(...times);
  });
}
