// On a real LXD. NODEPOOL_INCUS_KILLS: how many kills.
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useIncus } from './use-incus.js';

const get = useIncus();
const PATIENCE_MS = 300_000;
const MANY = 20;
const KILLS = Number(process.env['NODEPOOL_INCUS_KILLS'] ?? 20);
const ROUNDS = 5;
/** A request becomes a container and is deleted within about this time. */
const LIFE_MS = 3_000;
const TICK_MS = 10;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

/** CPU that a process has used, ms. */
async function cpuMs(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

it(`lends ${MANY} containers at once with ten calls or fewer for each`, async () => {
  const zuul = await get().newClient();
  const launcher = await get().launch(get().setup());
  const before = (await get().statsd.metrics()).counters;
  const cpuBefore = await cpuMs(launcher.pid);
  const startMs = Date.now();

  const ids = await Promise.all(Array.from({ length: MANY }, () => zuul.submit(['small'])));
  const nodes = (await Promise.all(ids.map((id) => zuul.take(id, PATIENCE_MS)))).flat();
  const readyMs = Date.now() - startMs;
  await zuul.giveBack(nodes);
  await get().assertClean(PATIENCE_MS);
  const allMs = Date.now() - startMs;

  const cpu = (await cpuMs(launcher.pid)) - cpuBefore;
  const { counters } = await get().statsd.metrics();
  const calls = Object.entries(counters)
    .filter(([name]) => name.startsWith('nodepool.task.lab.') && !name.endsWith('.attempted'))
    .map(([name, value]) => [name, value - (before[name] ?? 0)] as const);
  const perNode = calls.reduce((sum, [, value]) => sum + value, 0) / MANY;
  console.log(`${MANY} containers: ready ${seconds(readyMs)}, deleted ${seconds(allMs)}, launcher CPU ${seconds(cpu)}`);
  console.log(`${perNode.toFixed(1)} calls a node: ${calls.map(([name, value]) => `${name} ${value}`).join(', ')}`);
  expect(new Set(nodes.map(({ body }) => body['interface_ip'])).size).toBe(MANY);
  expect(perNode).toBeGreaterThan(0);
  expect(perNode).toBeLessThanOrEqual(10);
}, 600_000);

it(`leaves nothing after ${KILLS} kills of launcher and daemon at any moment`, async () => {
  const zuul = await get().newClient();
  let launcher = await get().launch(get().setup());
  for (let kill = 0; kill < KILLS; kill++) {
    const id = await zuul.submit(['small']);
    const ended = zuul.finish(id, PATIENCE_MS);
    await pause((kill / KILLS) * LIFE_MS);
    if (kill % 2 === 0) {
      await launcher.kill();
      launcher = await get().launch(get().setup());
    } else {
      await get().lxd.kill();
      await get().lxd.startDaemon();
    }
    await ended;
  }
  await expect(get().assertClean(PATIENCE_MS)).resolves.toBeUndefined();
}, 3_600_000);

it('starts a container from an image and from a snapshot as fast as by hand', async () => {
  const { lxd } = get();
  await lxd.lxc(['init', 'tiny', 'golden']);
  await lxd.lxc(['snapshot', 'golden', 'ready']);
  get().kept.add('golden');
  const zuul = await get().newClient();
  const times: Record<string, number[]> = { image: [], launch: [], clone: [], copy: [] };
  const timed = async (name: string, run: () => Promise<unknown>): Promise<void> => {
    const startMs = Date.now();
    await run();
    times[name]?.push(Date.now() - startMs);
  };
  const untilSsh = async (): Promise<void> => {
    for (;;) {
      const [address] = /10(\.\d+){3}/.exec(await lxd.lxc(['list', 'byhand', '--format=csv', '--columns=4'])) ?? [];
      if (address !== undefined && (await get().answersSsh(address))) break;
    }
  };
  for (const [kind, byHand, label] of [
    ['image', 'launch', {}],
    ['clone', 'copy', { 'clone-from': 'golden/ready' }],
  ] as const) {
    const setup = get().setup(label);
    const launcher = await get().launch(setup);
    for (let round = 0; round < ROUNDS; round++) {
      await timed(byHand, async () => {
        if (kind === 'image') await lxd.lxc(['launch', 'tiny', 'byhand']);
        else await lxd.lxc(['copy', 'golden/ready', 'byhand']).then(() => lxd.lxc(['start', 'byhand']));
        await untilSsh();
      });
      await lxd.lxc(['delete', '--force', 'byhand']);
      let nodes: Awaited<ReturnType<typeof zuul.take>> = [];
      await timed(kind, async () => {
        nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      });
      await zuul.giveBack(nodes);
      await get().assertClean(PATIENCE_MS);
    }
    await launcher.stop();
  }
  await lxd.lxc(['delete', '--force', 'golden']);
  get().kept.delete('golden');

  const of = (name: string): number => middle(times[name] ?? []);
  console.log(
    `from an image ${seconds(of('image'))}, by hand ${seconds(of('launch'))}: ratio ${(of('image') / of('launch')).toFixed(2)}; ` +
      `as a copy ${seconds(of('clone'))}, by hand ${seconds(of('copy'))}: ratio ${(of('clone') / of('copy')).toFixed(2)}`,
  );
  expect(of('clone')).toBeGreaterThan(0);
}, 900_000);
