import type { ZooKeeper } from '@nodepool/zk-protocol';

/** How many items have each key. */
export function countBy<T>(items: Iterable<T>, key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

/** The connection as an operator wants to see it. */
export function describeConnection(zk: ZooKeeper): Record<string, unknown> {
  return { state: zk.state, session: `0x${zk.sessionId.toString(16)}`, ...zk.counters };
}

/** What every service is made of, as lines for the log: the connection, memory, and what keeps the event loop busy. */
export function describeProcess(zk: ZooKeeper): string[] {
  return [
    `zookeeper: ${JSON.stringify(describeConnection(zk))}`,
    `memory: ${JSON.stringify(process.memoryUsage())}`,
    `event loop: ${JSON.stringify(countBy(process.getActiveResourcesInfo(), (name) => name))}`,
  ];
}
