// On a real LXD. NODEPOOL_INCUS_KILLS: how many kills.
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useIncus } from './use-incus.js';

const get = useIncus();
const PATIENCE_MS = 300_000;
const MANY = 20;
const KILLS = Number(process.env['NODEPOOL_INCUS_KILLS'] ?? 20);
/** A request becomes a container and is deleted within about this time. */
const LIFE_MS = 3_000;
const TICK_MS = 10;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

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
    // `.attempted` and `.over_1000` count the same calls a second time
    .filter(([name]) => name.startsWith('nodepool.task.lab.') && !/\.(attempted|over_\d+)$/.test(name))
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

it('lends copies of a snapshot, with what was installed there', async () => {
  const { lxd } = get();
  await lxd.lxc(['launch', 'tiny', 'golden']);
  await lxd.lxc(['exec', 'golden', '--', 'sh', '-c', 'echo installed >/root/done && rm -f /etc/dropbear/*']);
  await lxd.lxc(['stop', '--force', 'golden']);
  await lxd.lxc(['snapshot', 'golden', 'ready']);
  get().kept.add('golden');
  const zuul = await get().newClient();
  await get().launch(get().setup({ 'clone-from': 'golden/ready', username: 'root' }));

  const nodes = (
    await Promise.all(
      [zuul.submit(['small']), zuul.submit(['small'])].map(async (id) => zuul.take(await id, PATIENCE_MS)),
    )
  ).flat();
  const found = await Promise.all(nodes.map((node) => get().ssh(node, 'cat /root/done')));
  await zuul.giveBack(nodes);
  await get().assertClean(PATIENCE_MS);
  await lxd.lxc(['delete', '--force', 'golden']);
  get().kept.delete('golden');

  expect(nodes.map(({ body }) => [body['connection_type'], body['connection_port'], body['username']])).toEqual([
    ['ssh', 22, 'root'],
    ['ssh', 22, 'root'],
  ]);
  expect(found).toEqual(['installed\n', 'installed\n']);
  expect(new Set(nodes.map(({ body }) => String(body['host_keys']))).size).toBe(2);
}, 300_000);
