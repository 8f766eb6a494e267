import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { AlienResource, LeakedResource } from '../../contract/driver.js';
import { firstOf } from '../../text/first-of.js';

/** Conditions of resources in clouds without a record. */
export const CONDITIONS = {
  ResourcesLeaked: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'the cloud has resources of this database without a record; they are deleted; an error if the deletion fails',
    reasons: {
      NoRecord: 'they are deleted when found again',
      DeletionFails: 'the deletion failed',
      DatabaseReplaced: 'the data of ZooKeeper was lost or replaced, so nothing is deleted',
    },
    nextStep:
      'with DeletionFails: delete them with the tools of the cloud; with DatabaseReplaced: restore the data of ZooKeeper',
  },
  ResourcesWithoutProof: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning:
      'resources carry the name of the provider without proof that they belong to this database; they are not deleted',
    reasons: { NoDatabaseId: 'they carry no database id' },
    nextStep: 'nodepool adopt PROVIDER',
  },
  ResourcesOfOtherDatabase: {
    ...{ kind: 'provider', severity: 'warning' },
    meaning: 'resources carry the name of the provider and the id of another database; they are not deleted',
    reasons: { OtherDatabase: 'another installation uses the provider, or this service uses the wrong database' },
    nextStep: 'check zookeeper-servers and --state-dir',
  },
} as const satisfies ConditionTypes;

/** Resources named in one message. */
const MOST_NAMED = 10;

type OfProvider<T> = T & { readonly provider: string };

/** Resources of clouds that have no record in the database. */
export interface UnrecordedResources {
  /** Of this database; they are deleted. */
  leakedResources(): readonly OfProvider<LeakedResource>[];
  /** Without proof that they are of this database; they are not deleted. */
  alienResources(): readonly OfProvider<AlienResource>[];
}

/** Resources in clouds without a record: of this database, of an unknown one, and of another one. */
export function resourceConditions(providers: UnrecordedResources): FoundCondition[] {
  const aliens = providers.alienResources();
  return [
    ...byProvider(providers.leakedResources(), leakCondition),
    ...byProvider(
      aliens.filter(({ databaseId }) => databaseId === undefined),
      (name, found) =>
        newCondition(CONDITIONS, 'ResourcesWithoutProof', {
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
        newCondition(CONDITIONS, 'ResourcesOfOtherDatabase', {
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
    return newCondition(CONDITIONS, 'ResourcesLeaked', {
      ...{ name, reason: 'NoRecord', message, nextStep: '', sinceMs, evidence },
    });
  }
  if (stuck.some(({ isOfReplacedDatabase }) => isOfReplacedDatabase)) {
    return newCondition(CONDITIONS, 'ResourcesLeaked', {
      ...{ name, reason: 'DatabaseReplaced', severity: 'error', sinceMs, evidence },
      message: `${resources(stuck)} are in the cloud, and the data of ZooKeeper was lost or replaced; none is deleted: ${stuck[0]?.error ?? ''}`,
      nextStep: `restore the data of ZooKeeper; delete nothing by hand, as machines may be in use. If it is lost for good: restart this service, then nodepool adopt ${name} --force`,
    });
  }
  return newCondition(CONDITIONS, 'ResourcesLeaked', {
    ...{ name, reason: 'DeletionFails', severity: 'error', sinceMs, evidence },
    message: `${resources(stuck)} are in the cloud, have no record, and their deletion fails: ${stuck[0]?.error ?? ''}`,
    nextStep: 'delete them with the tools of the cloud',
  });
}

function byProvider<T extends { readonly provider: string }>(
  all: readonly T[],
  make: (provider: string, found: readonly T[]) => FoundCondition,
): FoundCondition[] {
  const of = (name: string) => all.filter(({ provider }) => provider === name);
  return [...new Set(all.map(({ provider }) => provider))].map((name) => make(name, of(name)));
}

function resources(
  found: readonly (Pick<LeakedResource, 'type' | 'id'> & Partial<Pick<AlienResource, 'name'>>)[],
): string {
  const names = found.map(({ type, id, name }) => `${type} ${id}${name === undefined ? '' : ` (${name})`}`);
  return `${found.length} ${found.length === 1 ? 'resource' : 'resources'} (${firstOf(names, MOST_NAMED)})`;
}
