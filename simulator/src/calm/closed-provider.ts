import type { JsonObject } from '@nodepool/zk-protocol';
import { SimulatedCloud } from '../cloud/cloud.js';
import type { ConfigSpec } from '../fleets/config.js';
import type { Scenario } from '../scenario.js';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';

const PROVIDER = 'closing';
const LABEL = 'of-closing';
/** Time that a machine needs until it is active. */
const CREATE_S = 8;
const REQUESTS = 6;
/** Within this time the requests are submitted. */
const SUBMITTED_MS = 10_000;
/** The longest time until the provider is closed: before or after requests of a launcher that is killed are taken over. */
const CLOSED_MS = 30_000;
/** By then each launcher has reloaded, lost requests are taken over or reset, and what is not launched is given back. */
const SETTLED_MS = 90_000;

/**
 * Checks that a provider with `max-concurrency: 0` gives back what its pool has accepted or taken over and may not launch: no
 * request stays `pending` but those whose launches had begun.
 * @returns whether the run has the fault
 */
export async function checkClosedProvider(world: World, scenario: Scenario): Promise<boolean> {
  if (!world.drawn.has('no-concurrency')) return false;
  const { random, clock } = world;
  const settings = { quota: { instances: random.pick([3, 100]) }, 'create-time': CREATE_S };
  const cloud = new SimulatedCloud(world, `cloud-of-${PROVIDER}`, settings);
  scenario.addCloud(cloud);
  reload(world, scenario, withProvider(scenario.spec(), cloud, random.int(1, 3)));
  submit(world, scenario);
  const killed = scenario.launchers.length > 1 ? random.pick(scenario.launchers) : undefined;
  if (killed) clock.setTimer(random.between(0, SUBMITTED_MS), () => killed.crash());
  await world.run(random.between(SUBMITTED_MS / 2, CLOSED_MS));
  world.trace.add('operator', `${PROVIDER}: at most 0 launches at once`);
  reload(world, scenario, withProvider(scenario.spec(), cloud, 0));
  await world.run(SETTLED_MS);
  for (const text of leftPending(world, scenario)) world.violate(new Violation(text));
  killed?.start();
  reload(world, scenario, scenario.spec());
  return true;
}

function withProvider({ providers, labels, ...rest }: ConfigSpec, cloud: SimulatedCloud, most: number): ConfigSpec {
  const label = { name: LABEL, 'cloud-image': 'image', 'flavor-name': 'small' };
  const closing: JsonObject = {
    ...{ name: PROVIDER, driver: 'fake', cloud: cloud.name, 'cloud-settings': cloud.settings },
    ...{ 'max-concurrency': most, 'cloud-images': [{ name: 'image' }], pools: [{ name: 'main', labels: [label] }] },
  };
  return { ...rest, labels: [...labels, { name: LABEL }], providers: [...providers, closing] };
}

/** Gives all launchers a configuration, each at another time. */
function reload({ random, clock }: World, { launchers }: Scenario, spec: ConfigSpec): void {
  for (const launcher of launchers) clock.setTimer(random.exponential(500), () => launcher.reconfigure(spec));
}

/** Most need more nodes than the provider may launch at once. */
function submit({ random, clock }: World, { clients: [client] }: Scenario): void {
  for (let i = 0; i < REQUESTS; i++) {
    const plan = {
      labels: Array.from({ length: random.int(1, 4) }, () => LABEL),
      ...{ priority: 200, relativePriority: 0, provider: null, tenantName: null, useMs: 1_000 },
      ...{ cancelAfterMs: CLOSED_MS + SETTLED_MS + SUBMITTED_MS, reviseAfterMs: undefined, holdMs: undefined },
    };
    clock.setTimer(random.between(2_000, SUBMITTED_MS), () => client?.submit(plan));
  }
}

/** Requests for nodes of the provider that were accepted and that nothing is launched for. */
function leftPending({ checker }: World, { launchers }: Scenario): string[] {
  const isLaunched = (request: string) =>
    [...checker.nodes.values()].some(
      ({ id, allocatedTo }) => allocatedTo === request && launchers.some(({ launching }) => launching.has(id)),
    );
  return [...checker.requests.values()]
    .filter(({ id, state, labels }) => state === 'pending' && labels[0] === LABEL && !isLaunched(id))
    .map(({ id }) => `request ${id} is left pending, although max-concurrency of its provider is 0`);
}
