import type { NodeRecord } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import { adviceFor, causeOf } from '../../conditions/error-reason.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { AlienResource, LeakedResource } from '../../contract/driver.js';
import { shellWord } from '../../text/shell-word.js';
import type { DrainingStatus } from '../providers/draining-providers.js';
import type { ProviderRunner } from '../providers/provider-runner.js';
import type { SteeringReport } from '../plan/steering.js';
import type { LabelOffer } from './label-offers.js';
import { firstOf } from '../../text/first-of.js';

/** Nodes and resources named in one message. */
const MOST_NAMED = 10;

/** Further facts for conditions of providers. */
export interface ProviderFacts {
  /** The pools that have each label. */
  readonly offers: ReadonlyMap<string, readonly LabelOffer[]>;
  /** Conditions of drivers. */
  readonly ofDrivers: readonly FoundCondition[];
}

/** Providers that could not be started. */
export function startConditions(runners: Iterable<ProviderRunner>, { offers }: ProviderFacts): FoundCondition[] {
  return [...runners].flatMap(({ name, startFailure }) => {
    if (!startFailure) return [];
    const message = `it could not be started: ${startFailure.message}; ${elsewhere(name, offers)}`;
    return [newCondition('NotStarted', { name, message, ...causeOf(startFailure, name) })];
  });
}

/** Providers whose launches or calls fail, or are slow, and labels whose launches fail in one of them. */
export function launchConditions(
  reports: readonly { readonly provider: string; readonly report: SteeringReport }[],
  facts: ProviderFacts,
): FoundCondition[] {
  return reports.flatMap(({ provider, report }) => [
    ...failingProvider(provider, report, facts),
    ...[...report.labels, ...report.doubted].map(({ label, health }) =>
      newCondition('LabelLaunchesFail', {
        name: `${provider}/${label}`,
        ...ofHealth(health, `launches of label "${label}"`, provider),
        evidence: { provider, label, ...evidenceOf(health) },
      }),
    ),
    ...slowProvider(provider, report),
  ]);
}

type HealthReport = SteeringReport['provider'];

/** Prefers the driver's advice if it has found the same cause. */
function failingProvider(
  name: string,
  { provider: health, failing }: SteeringReport,
  { offers, ofDrivers }: ProviderFacts,
): FoundCondition[] {
  if (health.state === 'healthy') return [];
  const found = ofHealth(health, failing, name);
  const cause = ofDrivers.find(
    (other) => other.kind === 'provider' && other.name === name && other.reason === found.reason,
  );
  const message = `${found.message}; ${elsewhere(name, offers)}`;
  const nextStep = cause?.nextStep ?? found.nextStep;
  return [newCondition('LaunchesFail', { name, ...found, message, nextStep, evidence: evidenceOf(health) })];
}

function slowProvider(name: string, { speed }: SteeringReport): FoundCondition[] {
  if (speed.state === 'healthy') return [];
  const message = `launches take much longer than usual: ${speed.error ?? 'no reason is known'}`;
  const times = { sinceMs: speed.sinceMs, lastSeenMs: speed.failedMs };
  return [
    newCondition('SlowLaunches', {
      name,
      reason: 'Slow',
      message,
      nextStep: '',
      ...times,
      evidence: evidenceOf(speed),
    }),
  ];
}

function ofHealth(health: HealthReport, what: string, provider: string) {
  const { failures, error = 'no reason is known', reason = 'Error', sinceMs, failedMs: lastSeenMs } = health;
  const message = `${failures} ${what} in a row failed: ${error}`;
  return { reason, message, nextStep: adviceFor(reason, provider), sinceMs, lastSeenMs };
}

function evidenceOf({ state, failures, nextProbeMs }: HealthReport): FoundCondition['evidence'] {
  if (state === 'healthy') return { failures }; // it is not probed
  return { failures, nextProbe: nextProbeMs === undefined ? null : nextProbeMs / 1_000 };
}

/** Whether other providers serve the labels of this one, in words. */
function elsewhere(provider: string, offers: ProviderFacts['offers']): string {
  const own = [...offers].filter(([, pools]) => pools.some((pool) => pool.provider === provider));
  const isServed = (pools: readonly LabelOffer[]) =>
    pools.some((pool) => pool.provider !== provider && pool.obstacle === undefined);
  const stranded = own.filter(([, pools]) => !isServed(pools)).map(([label]) => label);
  if (own.length === 0) return 'no label needs it';
  if (stranded.length === 0) return 'other providers serve its labels';
  return `no other provider serves ${named(stranded.map((label) => `"${label}"`))}`;
}

/** Providers that left the configuration and still have nodes. */
export function drainingConditions(
  draining: readonly DrainingStatus[],
  nodesOf: (provider: string) => Iterable<NodeRecord>,
): FoundCondition[] {
  return draining.map(({ provider: name, sinceMs }) => {
    const nodes = [...nodesOf(name)];
    const message = `it left the configuration and is drained; ${describeNodes(nodes)} left`;
    const evidence = { nodes: nodes.length };
    return newCondition('Draining', {
      name,
      reason: 'LeftConfiguration',
      message,
      nextStep: drainStep(nodes),
      sinceMs,
      evidence,
    });
  });
}

function drainStep(nodes: readonly NodeRecord[]): string {
  const held = nodes.filter(({ state }) => state === 'hold').map(({ id }) => id);
  if (held.length > 0)
    return `end the hold with nodepool delete ${held[0] ?? ''} when it is no longer needed; leave the launcher running`;
  return 'wait until its nodes are gone, and leave the launcher running until then';
}

/** Providers with nodes that no launcher has. */
export function orphanConditions(orphans: ReadonlyMap<string, readonly NodeRecord[]>): FoundCondition[] {
  return [...orphans].map(([name, nodes]) =>
    newCondition('NodesWithoutProvider', {
      ...{
        name,
        reason: 'UnknownProvider',
        message: `no launcher has it, and ZooKeeper has ${describeNodes(nodes)} of it`,
      },
      nextStep: `put the entry of provider "${name}" back until its nodes are gone; nodepool info ${shellWord(name)}`,
      evidence: { nodes: nodes.length },
    }),
  );
}

/** Nodes with their states, e.g. `2 nodes (0000000001 in-use, 0000000002 hold)`. */
export function describeNodes(nodes: readonly NodeRecord[]): string {
  const count = `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`;
  return nodes.length === 0 ? count : `${count} (${named(nodes.map(({ id, state }) => `${id} ${state}`))})`;
}

type OfProvider<T> = T & { readonly provider: string };

/** Resources in clouds without a record: of this database, of an unknown one, and of another one. */
export function resourceConditions(
  leaked: readonly OfProvider<LeakedResource>[],
  aliens: readonly OfProvider<AlienResource>[],
): FoundCondition[] {
  return [
    ...byProvider(leaked, leakCondition),
    ...byProvider(
      aliens.filter(({ databaseId }) => databaseId === undefined),
      (name, found) =>
        newCondition('ResourcesWithoutProof', {
          ...{
            name,
            reason: 'NoDatabaseId',
            nextStep: `nodepool adopt ${name}`,
            evidence: { resources: found.length },
          },
          message: `${resources(found)} carry its name and have no record in this database; they are not deleted`,
        }),
    ),
    ...byProvider(
      aliens.filter(({ databaseId }) => databaseId !== undefined),
      (name, found) =>
        newCondition('ResourcesOfOtherDatabase', {
          ...{ name, reason: 'OtherDatabase', evidence: { resources: found.length } },
          message: `${resources(found)} carry its name and the id of another database; they are not deleted`,
          nextStep: `does this service use the wrong database? Correct zookeeper-servers or --state-dir; "nodepool adopt ${name} --force" would delete them`,
        }),
    ),
  ];
}

function leakCondition(name: string, found: readonly LeakedResource[]): FoundCondition {
  const stuck = found.filter(({ error }) => error !== undefined);
  const sinceMs = Math.min(...found.map((each) => each.sinceMs));
  const evidence = { resources: found.length };
  if (stuck.length === 0) {
    const message = `${resources(found)} are in the cloud and have no record; they are deleted when they are seen again`;
    return newCondition('ResourcesLeaked', { name, reason: 'NoRecord', message, nextStep: '', sinceMs, evidence });
  }
  if (stuck.some(({ isOfReplacedDatabase }) => isOfReplacedDatabase)) {
    return newCondition('ResourcesLeaked', {
      ...{ name, reason: 'DatabaseReplaced', severity: 'error', sinceMs, evidence },
      message: `${resources(stuck)} are in the cloud, and the data of ZooKeeper was lost or replaced; none is deleted: ${stuck[0]?.error ?? ''}`,
      nextStep: `restore the data of ZooKeeper; delete nothing by hand, as machines may be in use. If it is lost for good: restart this service, then nodepool adopt ${name} --force`,
    });
  }
  return newCondition('ResourcesLeaked', {
    ...{ name, reason: 'DeletionFails', severity: 'error', sinceMs, evidence },
    message: `${resources(stuck)} are in the cloud, have no record, and their deletion fails: ${stuck[0]?.error ?? ''}`,
    nextStep: 'delete them with the tools of the cloud',
  });
}

function byProvider<T extends { readonly provider: string }>(
  all: readonly T[],
  make: (provider: string, found: readonly T[]) => FoundCondition,
): FoundCondition[] {
  const providers = [...new Set(all.map(({ provider }) => provider))];
  return providers.map((provider) =>
    make(
      provider,
      all.filter((each) => each.provider === provider),
    ),
  );
}

function resources(
  found: readonly (Pick<LeakedResource, 'type' | 'id'> & Partial<Pick<AlienResource, 'name'>>)[],
): string {
  const names = found.map(({ type, id, name }) => `${type} ${id}${name === undefined ? '' : ` (${name})`}`);
  return `${found.length} ${found.length === 1 ? 'resource' : 'resources'} (${named(names)})`;
}

const named = (names: readonly string[]) => firstOf(names, MOST_NAMED);
