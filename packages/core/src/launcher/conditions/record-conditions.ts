import {
  nodePath,
  requestPath,
  steadyNow,
  type Clock,
  type NodeId,
  type RequestId,
  type UnreadableRecord,
} from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import { firstOf } from '../../text/first-of.js';

/** Conditions of the records in ZooKeeper. */
export const CONDITIONS = {
  UnreadableRecords: {
    ...{ kind: 'zookeeper', severity: 'error' },
    meaning:
      'records of nodes or requests cannot be read, so that they are left as they are; a static slot that such a node may stand for is not registered',
    reasons: { Malformed: 'the message names the records, and what is wrong with the first one' },
    nextStep: 'repair the records with a client of ZooKeeper, or delete them once no job uses their machines',
  },
  DatabaseReplaced: {
    ...{ kind: 'zookeeper', severity: 'error' },
    meaning: 'ZooKeeper serves another database than before: hosts in use are lent again; ends after a day',
    reasons: { OtherDatabase: 'it has another id, as after a loss' },
    nextStep:
      'restore a good copy; without one, pause static and metastatic providers, see "An empty database" in docs/maintenance.md',
  },
} as const satisfies ConditionTypes;

/** Paths named in one message. */
const MOST_NAMED = 5;

/** What a launcher knows of the records in ZooKeeper. */
export interface KnownRecords {
  readonly clock: Clock;
  readonly life: {
    readonly databaseId: string | undefined;
    /** When this process saw another database, and which one had been before. */
    readonly replaced: { readonly sinceMs: number; readonly steadyMs: number; readonly before: string } | undefined;
  };
  readonly mirror: Readonly<Record<'nodes' | 'requests', { readonly unreadable: readonly UnreadableRecord[] }>>;
}

/** What ZooKeeper serves, and what of it cannot be read. */
export function recordConditions({ life, clock, mirror }: KnownRecords): FoundCondition[] {
  const { nodes, requests } = mirror;
  return [...replacedDatabase(life, clock), ...unreadableRecords(nodes.unreadable, requests.unreadable)];
}

/** How long the condition of another database lasts. */
const REPLACED_MS = 24 * 3_600_000;

/** Another database is served than before, which knows no user of a machine. */
function replacedDatabase({ replaced, databaseId }: KnownRecords['life'], clock: Clock): FoundCondition[] {
  if (!replaced || steadyNow(clock) - replaced.steadyMs > REPLACED_MS) return [];
  const { sinceMs, before } = replaced;
  return [
    newCondition(CONDITIONS, 'DatabaseReplaced', {
      ...{ name: 'ensemble', reason: 'OtherDatabase', sinceMs, evidence: { before, databaseId: databaseId ?? null } },
      message:
        'it serves another database than before, which knows no user of a machine: static hosts and metastatic slots in use are lent ' +
        'again, instances of the former one stay until they are adopted',
    }),
  ];
}

/** Records of nodes and requests that cannot be read. */
export function unreadableRecords(
  nodes: readonly UnreadableRecord[],
  requests: readonly UnreadableRecord[],
): FoundCondition[] {
  const paths = [
    ...nodes.map(({ id }) => nodePath(id as NodeId)),
    ...requests.map(({ id }) => requestPath(id as RequestId)),
  ];
  const all = [...nodes, ...requests];
  const [[path], [first]] = [paths, all];
  if (path === undefined || first === undefined) return [];
  const cost = nodes.length === 0 ? '' : ', and static slots that they may stand for are not registered';
  return [
    newCondition(CONDITIONS, 'UnreadableRecords', {
      ...{
        name: 'ensemble',
        reason: 'Malformed',
        sinceMs: all.reduce((since, r) => Math.min(since, r.sinceMs), Infinity),
      },
      message: `records that cannot be read are left as they are${cost}: ${firstOf(paths, MOST_NAMED)}; ${first.error.message}`,
      nextStep: `repair the record with a client of ZooKeeper, or, once no job uses its machine, delete it: zkCli.sh deleteall ${path}`,
      evidence: { nodes: nodes.length, requests: requests.length },
    }),
  ];
}
