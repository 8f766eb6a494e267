import type { RequestEntry } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import { SimulatedCloud } from '../cloud/cloud.js';
import type { ConfigSpec } from '../fleets/config.js';
import type { Scenario } from '../scenario.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';

const PROVIDER = 'lame';
/** Labels of the provider: flavors of simulated clouds, under other names. */
const BROKEN = { label: 'lame-broken', flavor: 'medium' };
const WORKING = { label: 'lame-working', flavor: 'small' };
/** Requests for the label that works that no launcher has accepted, at any time. */
const WAITING = 2;
/** Requests for the broken label at any time: those that are accepted take capacity until their launches time out. */
const OPEN = 2;
/** Broken launches hold capacity until they time out: there is enough for those of the label that works. */
const QUOTA = 100;
/** How long the provider may make no node of the label that works while requests for it wait. */
const LONGEST_MS = 60_000;
const LASTS_MS = 120_000;
const LOOK_EVERY_MS = 4_000;
/** A request that is younger may be on its way to a launcher. */
const FRESH_MS = 5_000;

/**
 * Checks that a provider serves a label that works although launches of another label of it always fail, at once or when they time
 * out, and requests for both wait all the time. A single host has the label that works too: without another pool, a provider is
 * tried whether it fails or not.
 * @returns whether the run has the fault
 */
export async function checkStarvation(world: World, scenario: Scenario): Promise<boolean> {
  if (!world.drawn.has('broken-labels')) return false;
  const cloud = new SimulatedCloud(world, `cloud-of-${PROVIDER}`, { quota: { instances: QUOTA } });
  scenario.addCloud(cloud);
  cloud.weather.brokenFlavor = BROKEN.flavor;
  cloud.weather.isBrokenSlow = world.random.chance(0.7);
  const own = withLame(scenario.spec(), world, cloud);
  for (const launcher of scenario.launchers) launcher.reconfigure(own);
  await observe(world, scenario);
  cloud.calm();
  for (const launcher of scenario.launchers) launcher.reconfigure(scenario.spec());
  return true;
}

async function observe(world: World, scenario: Scenario): Promise<void> {
  let servedMs = world.elapsedMs;
  for (const endMs = world.elapsedMs + LASTS_MS; world.elapsedMs < endMs && world.violations.length === 0;) {
    submit(scenario, BROKEN.label, OPEN - requestsOf(world, BROKEN.label).length);
    submit(scenario, WORKING.label, WAITING - waiting(world).length);
    await world.run(LOOK_EVERY_MS);
    const isWaiting = waiting(world).some(({ body }) => isOlder(body['created_time'], world));
    if (!isWaiting || hasNode(world)) servedMs = world.elapsedMs;
    const sinceMs = world.elapsedMs - servedMs;
    if (sinceMs > LONGEST_MS)
      world.violate(new Violation(`${PROVIDER} makes no nodes of a label that works for ${sinceMs / 1000} s`));
  }
}

function withLame({ labels, providers, ...rest }: ConfigSpec, world: World, cloud: SimulatedCloud): ConfigSpec {
  const { random } = world;
  const minReady = random.int(0, 1);
  const lame: JsonObject = {
    ...{ name: PROVIDER, driver: 'fake', cloud: cloud.name, 'cloud-settings': cloud.settings },
    ...{ 'launch-timeout': random.pick([60, 300]), 'boot-timeout': 60, 'launch-retries': random.int(1, 3) },
    'cloud-images': [{ name: 'image' }],
    pools: [
      {
        ...{ name: 'main', 'max-servers': 6 },
        labels: [BROKEN, WORKING].map(({ label, flavor }) => ({
          ...{ name: label, 'cloud-image': 'image', 'flavor-name': flavor },
        })),
      },
    ],
  };
  const host = { name: 'fake-spare', labels: [WORKING.label] };
  const spare: JsonObject = { name: 'spare', driver: 'static', pools: [{ name: 'main', nodes: [host] }] };
  const added = [{ name: BROKEN.label, minReady }, { name: WORKING.label }];
  return { ...rest, labels: [...labels, ...added], providers: [...providers, lame, spare] };
}

function submit({ clients: [client] }: Scenario, label: string, count: number): void {
  for (let i = 0; i < count; i++) {
    client?.submit({
      ...{ labels: [label], priority: 200, relativePriority: 0, provider: null, tenantName: null, useMs: 20_000 },
      ...{ cancelAfterMs: LASTS_MS, reviseAfterMs: undefined, holdMs: undefined },
    });
  }
}

/** Requests of jobs for the label that have not ended. */
function requestsOf({ checker }: World, label: string): RequestEntry[] {
  return [...checker.requests.values()].filter(
    ({ state, labels, body }) =>
      (state === 'requested' || state === 'pending') && labels[0] === label && isOfJob(body['requestor']),
  );
}

/** Requests for the label that works that no launcher has accepted. */
function waiting(world: World): RequestEntry[] {
  return requestsOf(world, WORKING.label).filter(({ state }) => state === 'requested');
}

function isOlder(createdTime: unknown, { clock }: World): boolean {
  return clock.now() - Number(createdTime) * 1000 > FRESH_MS;
}

function isOfJob(requestor: unknown): boolean {
  return typeof requestor === 'string' && !requestor.startsWith('NodePool:');
}

/** Whether the provider has, or launches, a node of the label that works. */
function hasNode({ checker }: World): boolean {
  return [...checker.nodes.values()].some(
    ({ body, labels, state }) =>
      body['provider'] === PROVIDER && labels.includes(WORKING.label) && state !== 'deleting' && state !== 'failed',
  );
}
