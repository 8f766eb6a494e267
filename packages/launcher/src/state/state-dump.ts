import { countBy } from '@nodepool/daemon';
import type { Launcher } from '@nodepool/core/launcher';

/** Sizes and queues of the caches. */
export function describeCaches(runtime: Pick<Launcher, 'nodes' | 'requests'>): Record<string, object> {
  const describe = (cache: Launcher['requests' | 'nodes']) => ({
    ready: cache.ready,
    records: cache.size,
    eventQueue: cache.eventQueue,
    playbackQueue: cache.playbackQueue,
  });
  return { nodes: describe(runtime.nodes), requests: describe(runtime.requests) };
}

/** Describes pools, open requests, node counts and caches as lines for the log. */
export function dumpState(runtime: Launcher, nowMs: number): string[] {
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
  return lines.map((line) => line.trimEnd());
}
