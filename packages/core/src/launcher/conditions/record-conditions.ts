import { nodePath, requestPath, type NodeId, type RequestId, type UnreadableRecord } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import type { FoundCondition } from '../../contract/condition.js';
import { firstOf } from '../../text/first-of.js';

/** Paths named in one message. */
const MOST_NAMED = 5;

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
    newCondition('UnreadableRecords', {
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
