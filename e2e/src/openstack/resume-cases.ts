import { textOf, type ApiObject, type OpenStack } from '@nodepool/openstack';
import { describe, expect, it } from 'vitest';
import type { LauncherProcess } from '../launcher-process.js';
import { OpenStackHarness, type OpenStackSetup } from './openstack-harness.js';

/** Concurrent launches. */
const COUNT = 20;
/** Neutron takes minutes for so many floating IPs on a busy machine; a launcher keeps the deadlines of the one before. */
const LAUNCH_TIMEOUT_S = 900;
const STEP_MS = 600_000;
const LOOK_MS = 2_000;
const PATIENCE_MS = 600_000;
/** Floating IPs that Neutron makes after their order was given up are found when they are seen twice, a minute apart. */
const CLEAN_MS = 260_000;
const TEST_MS = 1_500_000;
const CALL_NAME = /^nodepool\.task\.real\.(.*)\.attempted$/;

/** A step of a launch at which the launcher is replaced. */
interface KillStep {
  readonly name: string;
  /** Makes the launches stay at the step; set before they begin. */
  hold(cloud: OpenStack): Promise<void>;
  /** Resolves when all launches are at the step. */
  arrive(harness: OpenStackHarness): Promise<void>;
}

/** Replaces the launcher. */
type Replace = (harness: OpenStackHarness, setup: OpenStackSetup, old: LauncherProcess) => Promise<unknown>;

/** Launches in progress when their launcher is killed or upgraded. */
export function resumeCases(get: () => OpenStackHarness): void {
  describe('a launcher that continues the launches of another', () => {
    for (const step of KILL_STEPS)
      it(`killed while ${step.name}, uses all their servers`, () => continueAfter(step, kill, get()), TEST_MS);
    it('that it replaces, uses all their servers', () => continueAfter(HALFWAY, replaceByQuit, get()), TEST_MS);
  });
}

const kill: Replace = async (harness, setup, old) => {
  await old.kill();
  await harness.cloud.clearFaults();
  await harness.launch(setup, { name: 'successor' });
};

const replaceByQuit: Replace = async (harness, setup, old) => {
  await harness.launch(setup, { name: 'successor', replaces: old });
};

async function continueAfter(step: KillStep, replace: Replace, harness: OpenStackHarness): Promise<void> {
  const { cloud, statsd } = harness;
  const entry = { 'launch-timeout': LAUNCH_TIMEOUT_S };
  const setup = OpenStackHarness.setup({ pool: { networks: ['private'] }, entry });
  await step.hold(cloud);
  const old = await harness.launch(setup, { name: 'old' });
  const zuul = await harness.newClient();
  const since = new Date().toISOString().slice(0, 19);
  const ids = await Promise.all(Array.from({ length: COUNT }, () => zuul.submit(['small'])));
  await step.arrive(harness);

  const endedMs = Date.now();
  const before = (await statsd.metrics()).counters;
  await replace(harness, setup, old);
  const nodes = (await Promise.all(ids.map((id) => zuul.take(id, PATIENCE_MS)))).flat();
  const readyS = (Date.now() - endedMs) / 1_000;

  const made = await serversMadeSince(since, harness);
  const deleted = made.filter(({ status }) => status === 'DELETED');
  const ips = await floatingIps(harness);
  console.log(
    [
      `replaced while ${step.name}: ${made.length} servers made, ${nodes.length} used, ${deleted.length} deleted`,
      `${ips.length} floating IPs; all ready after ${readyS.toFixed(0)} s`,
      `calls of the successor: ${callsSince(before, (await statsd.metrics()).counters)}`,
    ].join('; '),
  );
  expect(nodes.map(({ body }) => textOf(body['external_id'])).sort()).toEqual(made.map(idOf).sort());
  expect(deleted).toEqual([]);
  expect(new Set(ips.map(({ port_id: port }) => port)).size).toBe(COUNT);
  expect(ips).toHaveLength(COUNT);
  await zuul.giveBack(nodes);
  await harness.assertClean(CLEAN_MS);
}

const orders = (path: string, more: object = {}) => ({ method: 'POST', path, hold: true, times: COUNT, ...more });
const LOST = { after: true, status: 502 };
const idOf = ({ id }: ApiObject): string => textOf(id);
const floatingIps = ({ api }: OpenStackHarness): Promise<ApiObject[]> =>
  api.list('neutron', '/v2.0/floatingips', 'floatingips');

const KILL_STEPS: readonly KillStep[] = [
  {
    name: 'the orders for servers were on their way',
    hold: (cloud) => cloud.setFault('http-nova', orders('/servers$')),
    arrive: (harness) => allOrdered(harness, 'http-nova'),
  },
  {
    name: 'the responses to the orders for servers were lost',
    hold: (cloud) => cloud.setFault('http-nova', orders('/servers$', LOST)),
    arrive: async (harness) => {
      await allOrdered(harness, 'http-nova');
      await untilThere(harness, 'servers', () => harness.servers());
    },
  },
  {
    name: 'the ids of the servers were stored',
    hold: (cloud) => cloud.setFault('spawn-delay', 20),
    arrive: (harness) => untilThere(harness, 'stored ids of servers', () => storedIds(harness)),
  },
  {
    name: 'the orders for floating IPs were on their way',
    hold: (cloud) => cloud.setFault('http-neutron', orders('/floatingips$')),
    arrive: (harness) => allOrdered(harness, 'http-neutron'),
  },
  {
    name: 'responses to orders for floating IPs were lost',
    hold: (cloud) => cloud.setFault('http-neutron', orders('/floatingips$', LOST)),
    // not of all: the launcher repeats an order that is not answered within a minute
    arrive: (harness) =>
      harness.until('floating IPs', async () => (await floatingIps(harness)).length >= COUNT / 4, STEP_MS, LOOK_MS),
  },
  {
    name: 'the floating IPs were attached and not up',
    hold: async (cloud) => {
      await cloud.setFault('floating-ip-delay', 40);
      await cloud.setFault('http-neutron', orders('/floatingips$'));
    },
    // ordered together, as a floating IP is given up if it is not up within a minute
    arrive: async (harness) => {
      await allOrdered(harness, 'http-neutron');
      await harness.cloud.clearFaults('http-neutron');
      await untilThere(harness, 'floating IPs', () => floatingIps(harness));
    },
  },
];

const allOrdered = (harness: OpenStackHarness, fault: string): Promise<void> =>
  harness.until('all orders to be on their way', () => harness.cloud.isFaultUsed(fault), STEP_MS);

const untilThere = (harness: OpenStackHarness, what: string, list: () => Promise<unknown[]>): Promise<void> =>
  harness.until(`${COUNT} ${what}`, async () => (await list()).length === COUNT, STEP_MS, LOOK_MS);

/** Launches at any step. */
const HALFWAY: KillStep = {
  name: 'half of the servers were ordered',
  hold: () => Promise.resolve(),
  arrive: (harness) =>
    harness.until('half of the servers', async () => (await harness.servers()).length >= COUNT / 2, STEP_MS, LOOK_MS),
};

/** Servers, also deleted ones. @param since - without a time zone and fractions, as Nova shows times */
async function serversMadeSince(since: string, { api }: OpenStackHarness): Promise<ApiObject[]> {
  const changed = await api.list('nova', `/v2.1/servers/detail?changes-since=${since}Z`, 'servers');
  return changed.filter(({ created }) => textOf(created) >= since);
}

/** External ids in the records of nodes. */
async function storedIds({ zk }: OpenStackHarness): Promise<string[]> {
  const ids = await zk.getChildren('/nodepool/nodes');
  const texts = await Promise.all(ids.map(async (id) => (await zk.getData(`/nodepool/nodes/${id}`)).data));
  const found = texts.map((text) => (JSON.parse(text.toString()) as ApiObject)['external_id']);
  return found.filter((id) => typeof id === 'string');
}

function callsSince(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>): string {
  return Object.entries(after)
    .map(([name, count]) => [CALL_NAME.exec(name)?.[1], count - (before[name] ?? 0)] as const)
    .filter(([call, count]) => call !== undefined && count > 0)
    .map(([call, count]) => `${call} ${count}`)
    .join(', ');
}
