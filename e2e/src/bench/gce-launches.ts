import { GceHarness, gceSetup } from '../gce-harness.js';
import type { Finding } from './finding.js';
import { cpuMs } from './process-usage.js';

const BOOT_MS = 2_000;
const WRITES = ['Instances.Insert', 'Instances.Delete'];

/** Launches nodes at once on a Compute Engine that boots them in 2 s: duration, CPU and number of calls. */
export async function measureGce(amounts: readonly number[]): Promise<Finding[]> {
  const harness = await GceHarness.start();
  try {
    const findings: Finding[] = [];
    for (const nodes of amounts) findings.push(...(await measureLaunches(harness, nodes)));
    return findings;
  } finally {
    await harness.stop();
  }
}

async function measureLaunches(harness: GceHarness, nodes: number): Promise<Finding[]> {
  harness.cloudOptions = { bootMs: BOOT_MS, deleteMs: 1_000 };
  await harness.startTest();
  const { fake } = harness.cloud;
  const launcher = await harness.launch(gceSetup());
  const zuul = await harness.newClient();
  fake.calls.clear();
  const cpuBefore = await cpuMs(launcher.pid);

  const beganMs = performance.now();
  const ids = await Promise.all(Array.from({ length: nodes }, () => zuul.submit(['debian'])));
  await Promise.all(ids.map((id) => zuul.wait(id, 60_000)));
  const readyMs = performance.now() - beganMs;
  const taken = (await Promise.all(ids.map((id) => zuul.take(id)))).flat();
  await Promise.all(taken.map((node) => zuul.giveBack([node])));
  await harness.assertClean(60_000);

  const cpu = (await cpuMs(launcher.pid)) - cpuBefore;
  const calls = [...fake.calls].map(([name, count]) => ({ name, perNode: count / nodes }));
  await harness.endTest();
  const what = (text: string) => `gce, ${nodes} nodes at once, ${BOOT_MS / 1_000} s boot: ${text}`;
  const wantedMs = 1.3 * BOOT_MS + 10 * nodes;
  const sumOf = (names: (name: string) => boolean): number =>
    calls.filter(({ name }) => names(name)).reduce((sum, { perNode }) => sum + perNode, 0);
  return [
    { what: what('all ready after'), value: readyMs, unit: 'ms', wanted: `below ${wantedMs}` },
    { what: what('launcher CPU per node, until deleted'), value: cpu / nodes, unit: 'ms', wanted: 'below 12' },
    { what: what('writes per node'), value: sumOf((name) => WRITES.includes(name)), unit: 'calls', wanted: '2' },
    { what: what('lists per node'), value: sumOf((name) => name.endsWith('.List')), unit: 'calls' },
    { what: what('operation waits per node'), value: sumOf((name) => name.startsWith('ZoneOp')), unit: 'calls' },
    {
      what: what('other calls per node'),
      value: sumOf((name) => /\.Get/.test(name) && !name.startsWith('ZoneOp')),
      unit: 'calls',
    },
  ];
}
