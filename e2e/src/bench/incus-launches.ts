import { IncusHarness } from '../incus/incus-harness.js';
import type { Finding } from './finding.js';

const PATIENCE_MS = 120_000;
const WANTED = 'at most 1.1';

/** How a container is made, by `lxc` and by a label. */
const KINDS = [
  { name: 'image', commands: [['launch', 'tiny', 'byhand']], label: {} },
  {
    name: 'copy of a snapshot',
    commands: [
      ['copy', 'golden/ready', 'byhand'],
      ['start', 'byhand'],
    ],
    label: { 'clone-from': 'golden/ready' },
  },
] as const;

/** Request to a ready container of a real LXD, in turn with `lxc` by hand until SSH answers. Needs root. */
export async function measureIncus(rounds: number): Promise<Finding[]> {
  const harness = await IncusHarness.start();
  try {
    await harness.lxd.lxc(['init', 'tiny', 'golden']);
    await harness.lxd.lxc(['snapshot', 'golden', 'ready']);
    harness.kept.add('golden');
    const findings: Finding[] = [];
    for (const kind of KINDS) findings.push(...(await measureKind(harness, kind, rounds)));
    return findings;
  } finally {
    await harness.stop();
  }
}

async function measureKind(
  harness: IncusHarness,
  { name, commands, label }: (typeof KINDS)[number],
  rounds: number,
): Promise<Finding[]> {
  await harness.startTest();
  const zuul = await harness.newClient();
  await harness.launch(harness.setup(label));
  const [byHand, byNodepool]: [number[], number[]] = [[], []];
  // the first round fills caches
  for (let round = 0; round <= rounds; round++) {
    let beganMs = performance.now();
    for (const command of commands) await harness.lxd.lxc(command);
    await untilSsh(harness);
    if (round > 0) byHand.push(performance.now() - beganMs);
    await harness.lxd.lxc(['delete', '--force', 'byhand']);

    beganMs = performance.now();
    const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
    if (round > 0) byNodepool.push(performance.now() - beganMs);
    await zuul.giveBack(nodes);
    await harness.assertClean(PATIENCE_MS);
  }
  await harness.endTest();
  const what = (text: string) => `incus, ${name}, median of ${rounds}: ${text}`;
  const [hand, nodepool] = [middle(byHand), middle(byNodepool)];
  return [
    { what: what('by hand until SSH answers'), value: hand, unit: 'ms' },
    { what: what('request to node'), value: nodepool, unit: 'ms' },
    { what: what('request to node, beside by hand'), value: nodepool / hand, unit: 'times', wanted: WANTED },
  ];
}

/** Waits until the container made by hand lets its user in. */
async function untilSsh(harness: IncusHarness): Promise<void> {
  for (;;) {
    const shown = await harness.lxd.lxc(['list', 'byhand', '--format=csv', '--columns=4']);
    const [address] = /10(\.\d+){3}/.exec(shown) ?? [];
    if (address !== undefined && (await harness.answersSsh(address))) return;
  }
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[half] ?? NaN) : ((sorted[half - 1] ?? NaN) + (sorted[half] ?? NaN)) / 2;
}
