import type { ZooKeeper } from '@nodepool/zk-protocol';
import type { LauncherRuntime } from './runtime.js';

function countBy<T>(items: Iterable<T>, key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

/** Sizes and queues of the caches. */
export function describeCaches(runtime: Pick<LauncherRuntime, 'nodes' | 'requests'>): Record<string, object> {
  const describe = (cache: LauncherRuntime['requests' | 'nodes']) => ({
    ready: cache.ready,
    records: cache.size,
    eventQueue: cache.eventQueue,
    playbackQueue: cache.playbackQueue,
  });
  return { nodes: describe(runtime.nodes), requests: describe(runtime.requests) };
}

/** The connection as an operator wants to see it. */
export function describeConnection(zk: ZooKeeper): Record<string, unknown> {
  return { state: zk.state, session: `0x${zk.sessionId.toString(16)}`, ...zk.counters };
}

/**
 * What the launcher is doing, as lines for the log: pools, requests that are not finished, node counts, caches,
 * the connection, and what keeps the event loop busy.
 */
export function dumpState(runtime: LauncherRuntime, zk: ZooKeeper, nowMs: number): string[] {
  const lines = [`not ready: ${runtime.notReady.join(', ') || 'nothing'}`];
  for (const pool of runtime.components) {
    const paused = pool.paused ? ' paused' : '';
    lines.push(`pool ${pool.providerName}-${pool.name} of ${pool.hostname}: ${pool.state}${paused} ${pool.launcherId}`);
  }
  for (const load of runtime.pools) lines.push(`own pool ${JSON.stringify(load)}`);
  for (const failing of runtime.providerErrors) lines.push(`provider ${failing.provider} failed: ${failing.error}`);
  for (const { provider, nodes } of runtime.drainingProviders)
    lines.push(`provider ${provider} drains: ${nodes} nodes left`);
  for (const { nodeId, attempts, error } of runtime.failingDeletions) {
    lines.push(`deletion of node ${nodeId} failed ${attempts} times: ${error ?? ''}`);
  }
  for (const request of runtime.requests.values()) {
    if (request.state === 'fulfilled' || request.state === 'failed') continue;
    const ageSeconds = Math.round((nowMs - request.stateTimeMs) / 1000);
    const reasons = Object.values(request.declineReasons).map(({ text }) => text);
    lines.push(
      `request ${request.id} ${request.state} for ${ageSeconds} s: ${request.labels.join(',')} ${reasons.join('; ')}`,
    );
  }
  lines.push(`nodes by state: ${JSON.stringify(countBy(runtime.nodes.values(), (node) => node.state))}`);
  lines.push(`caches: ${JSON.stringify(describeCaches(runtime))}`);
  lines.push(`zookeeper: ${JSON.stringify(describeConnection(zk))}`);
  lines.push(`memory: ${JSON.stringify(process.memoryUsage())}`);
  lines.push(`event loop: ${JSON.stringify(countBy(process.getActiveResourcesInfo(), (name) => name))}`);
  return lines.map((line) => line.trimEnd());
}
