import type { ZooKeeper } from '@nodepool/zk-protocol';

/** Counts items by key. */
export function countBy<T>(items: Iterable<T>, key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

/** Describes the connection for operators. */
export function describeConnection(zk: ZooKeeper): Record<string, unknown> {
  return { state: zk.state, session: `0x${zk.sessionId.toString(16)}`, ...zk.counters };
}

/** Describes the connection, memory and event loop of any service as lines for the log. */
export function describeProcess(zk: ZooKeeper): string[] {
  return [
    `zookeeper: ${JSON.stringify(describeConnection(zk))}`,
    `memory: ${JSON.stringify(process.memoryUsage())}`,
    `event loop: ${JSON.stringify(countBy(process.getActiveResourcesInfo(), (name) => name))}`,
  ];
}
