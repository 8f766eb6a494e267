import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import type { LabelConfig } from '../../contract/config.js';
import type { SteeringView } from './steering.js';
import { findCandidates, isOriginal, MIN_READY_REQUESTOR, reason } from './candidates.js';
import { failureTime, probeTime } from './texts.js';
import type { PlannedRequest, PoolView, Reason, Verdict } from './types.js';

/**
 * A pool of another provider that could serve the request: registered, not paused, not known to fail. Pools of the original
 * Nodepool do not count: they do not publish when they take nothing, and they fail a request that they decline last.
 * @returns `undefined` if there is none, so that this provider has to try
 */
export function findAlternative(request: PlannedRequest, view: PoolView): PoolComponentRecord | undefined {
  return findOthers(request, view).find((pool) => !pool.health && !isOriginal(pool));
}

/**
 * The pool that a request is handed over to after a failed launch, before all attempts have been made. While a pool of the
 * original Nodepool is registered there is none: it would write the request without the note that this pool may have it back.
 */
export function findSuccessor(request: PlannedRequest, view: PoolView): PoolComponentRecord | undefined {
  return hasOriginals(view) ? undefined : findAlternative(request, view);
}

/** Whether pools of the original are registered. Our pools may have an entry in the old registry too, without steering. */
function hasOriginals({ registered }: PoolView): boolean {
  const ours = new Set(registered.filter((pool) => !isOriginal(pool)).map(({ launcherId }) => launcherId));
  return registered.some(({ launcherId }) => !ours.has(launcherId));
}

function findOthers(request: PlannedRequest, view: PoolView): PoolComponentRecord[] {
  return findCandidates(request, view).filter(
    (pool) => pool.providerName !== view.provider && !pool.paused && !pool.legacy,
  );
}

/** Whether the request is a probe: for a node of one provider, to find out whether it works again. */
export function isProbe<T extends Pick<PlannedRequest, 'requestor' | 'provider'>>(
  request: T,
): request is T & { readonly provider: string } {
  return request.requestor === MIN_READY_REQUESTOR && request.provider !== null;
}

/**
 * Chooses the labels for which a provider launches probes: each failing label; if the provider itself fails, one label, in turn and
 * preferably one that worked last, else one with free nodes; if it is slow, only a label with free nodes, as requests show the
 * speed as well.
 * @param due - labels of the provider for which a probe is due, in the order of the configuration
 */
export function chooseProbes(
  due: readonly Pick<LabelConfig, 'name' | 'minReady'>[],
  steering: Pick<SteeringView, 'isWell' | 'isFailing' | 'compareProbes'>,
): string[] {
  const kept = due.filter(({ minReady }) => minReady > 0).slice(0, 1);
  if (steering.isWell)
    return due.filter((label) => kept.includes(label) || steering.isFailing(label.name)).map(({ name }) => name);
  const names = [...kept, ...due].map(({ name }) => name);
  return names.sort((a, b) => steering.compareProbes(a, b)).slice(0, 1);
}

/** Skips a probe that is not due for this launcher: another launcher of the provider may have requested it. */
export function judgeProbe(request: PlannedRequest, { steering, provider }: PoolView): Verdict | undefined {
  if (!isProbe(request) || (steering?.isProbeDue(request.labels) ?? false)) return undefined;
  const text = `it is a probe of provider "${provider}", which needs none at the moment`;
  return {
    action: 'skip',
    reason: reason('provider-failing', text, 'the launcher that asked for it serves or removes it'),
  };
}

/**
 * Defers a request while the provider fails and another pool can serve it. Probes and requests for its ready nodes pass. A
 * pool of the original Nodepool gets a short time to take the request. A provider that the request names always tries, as no
 * other pool takes that request. Without an alternative the provider tries too, except for free nodes: no job waits for
 * them, and the next probe launches them.
 */
export function judgeHealth(request: PlannedRequest, view: PoolView): Verdict | undefined {
  const { steering } = view;
  if (!steering || !view.launches || request.provider === view.provider) return undefined;
  if (steering.mayLaunch(request.labels) || hasReadyNodes(request, view)) return undefined;
  const other =
    findAlternative(request, view) ??
    (view.isPausing?.(request.id) ? findOthers(request, view).find(isOriginal) : undefined);
  if (!other && request.requestor !== MIN_READY_REQUESTOR) return undefined;
  return { action: 'defer', reason: failingReason(request, view, other) };
}

function failingReason(request: PlannedRequest, view: PoolView, other: PoolComponentRecord | undefined): Reason {
  const report = view.steering?.report();
  const label = report?.labels.find((each) => request.labels.includes(each.label));
  const isProvider = report?.provider.state !== 'healthy';
  const health = isProvider ? report?.provider : label?.health;
  const what = isProvider ? (report?.failing ?? 'launches') : `launches of "${label?.label ?? ''}"`;
  const failures = health?.failures ?? 0;
  const last = health?.failedMs === undefined ? '' : `${failureTime(health.failedMs)}, `;
  const next = probeTime(health?.nextProbeMs);
  return reason(
    'provider-failing',
    `provider "${view.provider}": ${failures} ${what} in a row failed, ${last}${next}: ${health?.error ?? 'no reason was given'}`,
    other ? `pool "${other.providerName}/${other.name}" serves it, or a probe succeeds` : 'a probe succeeds',
    { failures, ...(other && { pool: other.name, provider: other.providerName }) },
  );
}

function hasReadyNodes({ labels }: PlannedRequest, view: PoolView): boolean {
  return labels.every((label) => {
    for (const node of view.freeNodes(label)) return node.state === 'ready';
    return false;
  });
}

/** Leaves a request for a moment to the first of the pools that could serve it, so that not all of them try. */
export function judgeFirst(request: PlannedRequest, view: PoolView): Verdict | undefined {
  const first = view.leftTo?.(request);
  if (!first) return undefined;
  const slow = view.steering?.isSlow ? view.steering.report().speed.error : undefined;
  const why = slow === undefined ? '' : `provider "${view.provider}" is slow, ${slow}: `;
  return {
    action: 'yield',
    reason: reason(
      'yield-to-first',
      `${why}it is left to pool "${first.providerName}/${first.name}" for a moment`,
      `pool "${first.providerName}/${first.name}" serves, pauses or declines it, or the moment passes`,
      { provider: first.providerName, pool: first.name },
    ),
  };
}
