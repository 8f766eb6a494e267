import { setTimeout as delay } from 'node:timers/promises';
import { connect, encodeNode, newNode, NODE_CREATE_PATH, type Operation, type RequestId } from '@nodepool/zk-protocol';
import type { Finding } from './finding.js';
import { cpuMs, rssMib } from './process-usage.js';
import { withServer } from './scenarios.js';
import { startLauncher, staticConfig } from './subjects.js';

/** Nodes of all launchers together. */
const COUNTS = [10_000, 30_000, 100_000];
const PER_TRANSACTION = 250;
const IN_FLIGHT = 4;
const SETTLE_MS = 15_000;
const WANTED: Readonly<Record<number, { startMs: string; rss: string; idle: string }>> = {
  100_000: { startMs: 'under 20000', rss: 'under 700', idle: 'under 500' },
};

/**
 * Cost of mirroring the nodes of other launchers: start, memory, and CPU when nothing happens. The nodes look like nodes of
 * a cloud in use.
 */
export async function measureMirror(idleSeconds: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const nodes of COUNTS) {
    findings.push(
      ...(await withServer(
        'zookeeper',
        async (connectString, dir) => {
          await fill(connectString, nodes);
          const subject = await startLauncher(dir, (port) => staticConfig(connectString, { a: 10 }, port));
          try {
            await delay(SETTLE_MS);
            const before = await cpuMs(subject.pid);
            await delay(idleSeconds * 1_000);
            const idle = (((await cpuMs(subject.pid)) - before) * 60) / idleSeconds;
            return describe(nodes, subject.startMs, await rssMib(subject.pid), idle);
          } finally {
            await subject.kill();
          }
        },
        ['-Xmx1g'],
      )),
    );
  }
  return findings;
}

function describe(nodes: number, startMs: number, rss: number, idle: number): Finding[] {
  const wanted = WANTED[nodes];
  const finding = (text: string, value: number, unit: string, goal: string | undefined): Finding => ({
    what: `mirror of ${nodes} nodes: ${text}`,
    ...{ value, unit },
    ...(goal !== undefined && { wanted: goal }),
  });
  return [
    finding('start to /ready', startMs, 'ms', wanted?.startMs),
    finding('resident memory', rss, 'MiB', wanted?.rss),
    finding('CPU a minute when nothing happens', idle, 'ms', wanted?.idle),
  ];
}

async function fill(connectString: string, nodes: number): Promise<void> {
  const zk = await connect({ servers: connectString, sessionTimeoutMs: 60_000 });
  await zk.ensurePath('/nodepool/nodes');
  let made = 0;
  const lane = async (): Promise<void> => {
    for (let from = made; from < nodes; from = made) {
      const count = Math.min(PER_TRANSACTION, nodes - from);
      made += count;
      await zk.multi(Array.from({ length: count }, (_, i) => create(from + i)));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  await zk.close();
}

function create(number: number): Operation {
  const id = String(number).padStart(8, '0');
  const node = newNode(
    {
      ...{ state: 'in-use', labels: [`label-${number % 40}`], provider: `cloud-${number % 100}`, pool: 'main' },
      ...{
        externalId: `6f1c2d9e-0000-4000-8000-0000${id}`,
        hostname: `np${id}`,
        interfaceIp: `10.0.${number % 250}.7`,
      },
      ...{
        az: `zone-${number % 3}`,
        hostKeys: [`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA${id.repeat(5)}`],
        username: 'zuul',
      },
      ...{ connectionType: 'ssh', connectionPort: 22, resources: { instances: 1, cores: 8, ram: 8_192 } },
      ...{
        launcher: `launcher-${number % 50}`,
        tenantName: `tenant-${number % 10}`,
        allocatedTo: `200-00${id}` as RequestId,
      },
    },
    Date.now(),
  );
  return { op: 'create', path: NODE_CREATE_PATH, data: encodeNode(node), sequential: true };
}
