import { textOf } from '@nodepool/openstack';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../bench/process-usage.js';
import { idleNodeProblems } from '../inventory.js';
import { OpenStackHarness } from './openstack-harness.js';

/** How many nodes; a hundred are what the time is measured for. */
const COUNT = Number(process.env['NODEPOOL_OPENSTACK_NODES'] ?? 100);
const PATIENCE_MS = 600_000;
/** Concurrent orders of the bare script, as many as the driver's: on a busy machine Neutron answers more with errors. */
const AT_ONCE = 50;

/** Many nodes at once, and beside them what a bare script needs for the same. */
export function nodeCases(get: () => OpenStackHarness): void {
  describe('many nodes', () => {
    it(`${COUNT} of them are launched and deleted in the time the services take, under the usual metrics`, async () => {
      const bare = await bareScript(get(), COUNT);
      const zuul = await get().newClient();
      const launcher = await get().launch(OpenStackHarness.setup());
      const [before, cpuBefore] = [(await get().statsd.metrics()).counters, await cpuMs(launcher.pid)];
      const startedMs = Date.now();

      const ids = await Promise.all(Array.from({ length: COUNT }, () => zuul.submit(['small'])));
      const nodes = (await Promise.all(ids.map((id) => zuul.take(id, PATIENCE_MS)))).flat();
      const readyMs = Date.now() - startedMs;
      const keys = new Set(nodes.flatMap(({ body }) => body['host_keys']));
      await zuul.giveBack(nodes);
      await get().until(
        'all nodes to be gone',
        async () => (await idleNodeProblems(get().zk)).length === 0,
        PATIENCE_MS,
      );
      const wholeMs = Date.now() - startedMs;
      await get().assertClean(60_000);
      const cpuPerNode = ((await cpuMs(launcher.pid)) - cpuBefore) / COUNT;
      const { counters } = await get().statsd.metrics();

      const line = (what: string, own: number, other: number) =>
        `${what}: ${(own / 1_000).toFixed(1)} s, a bare script ${(other / 1_000).toFixed(1)} s, ratio ${(own / other).toFixed(2)}`;
      const lines = [
        `${COUNT} nodes`,
        line('ready', readyMs, bare.readyMs),
        line('created and deleted', wholeMs, bare.wholeMs),
        `launcher: ${cpuPerNode.toFixed(1)} ms of CPU per node`,
        ...callsPerNode(counters, before),
      ];
      console.log(lines.join('\n'));
      expect([...keys]).toEqual(get().hostKeys);
      expect(new Set(nodes.map(({ body }) => body['external_id'])).size).toBe(COUNT);
      expect(wholeMs).toBeLessThan(bare.wholeMs * 1.15 + 5_000);
      expect(counters['nodepool.task.real.compute.POST.servers.202']).toBeGreaterThanOrEqual(COUNT);
      expect(counters['nodepool.task.real.compute.DELETE.server.204']).toBeGreaterThanOrEqual(COUNT);
      expect(counters['nodepool.task.real.compute.GET.servers_detail.200']).toBeGreaterThan(0);
      expect(launcher.log).not.toContain('nodepool-password');
    }, 1_500_000);
  });
}

/** Calls by name, as statsd has counted them. */
function callsPerNode(counters: Readonly<Record<string, number>>, before: Readonly<Record<string, number>>): string[] {
  const prefix = 'nodepool.task.real.';
  return Object.entries(counters)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, count]) => [name.slice(prefix.length), (count - (before[name] ?? 0)) / COUNT] as const)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${name}: ${share.toFixed(3)} per node`);
}

interface Times {
  readonly readyMs: number;
  readonly wholeMs: number;
}

/** The same creations and deletions with nothing else, as fast as the services take them. */
async function bareScript(harness: OpenStackHarness, count: number): Promise<Times> {
  const { api } = harness;
  const find = async (
    path: string,
    key: string,
    name: string,
    service: 'nova' | 'neutron' | 'glance',
  ): Promise<string> => {
    const found = (await api.list(service, path, key)).find((one) => one['name'] === name);
    return textOf(found?.['id']);
  };
  const flavorRef = await find('/v2.1/flavors', 'flavors', 'm1.tiny', 'nova');
  const uuid = await find('/v2.0/networks', 'networks', 'public', 'neutron');
  const imageRef = await find('/v2/images', 'images', 'test-image', 'glance');
  const startedMs = Date.now();
  const server = { name: 'bare', flavorRef, imageRef, networks: [{ uuid }] };
  const ids: string[] = [];
  let left = count;
  const createMore = async (): Promise<void> => {
    while (left-- > 0) {
      const made = await api.call('nova', 'POST', '/v2.1/servers', { server });
      ids.push(textOf((made['server'] as { id: string }).id));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, createMore));
  const statuses = async () =>
    (await api.list('nova', '/v2.1/servers/detail', 'servers')).map(({ status }) => textOf(status));
  const until = (what: string, isSo: (all: readonly string[]) => boolean): Promise<void> =>
    harness.until(`${what}, of the bare script`, async () => isSo(await statuses()), PATIENCE_MS, 1_000);
  await until('servers to be active', (all) => all.length === count && all.every((status) => status === 'ACTIVE'));
  const readyMs = Date.now() - startedMs;
  await Promise.all(ids.map((id) => api.call('nova', 'DELETE', `/v2.1/servers/${id}`)));
  await until('servers to be gone', (all) => all.length === 0);
  return { readyMs, wholeMs: Date.now() - startedMs };
}
