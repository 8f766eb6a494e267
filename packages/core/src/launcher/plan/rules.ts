import type { Resources } from '@nodepool/zk-protocol';
import { findOverrun, findShortage, sumResources, type Shortage } from '../../contract/resources.js';
import { findCandidates, reason } from './candidates.js';
import { judgeControls } from './controls.js';
import { isProbe, judgeFirst, judgeHealth, judgeProbe } from './health-rules.js';
import { amountText, labelsToText, unknownLabelsText } from './texts.js';
import type { PlannedRequest, PoolView, QuotaView, Reason, Verdict } from './types.js';

/**
 * The rules that do not depend on free capacity: whether the pool queues the request at all.
 * @returns `undefined` if the request belongs in this pool's queue
 */
export function judgeStanding(request: PlannedRequest, view: PoolView): Verdict | undefined {
  if (view.stopping) {
    return skip(reason('stopping', 'this launcher is stopping', 'another launcher with this pool takes over'));
  }
  if (request.state !== 'requested') {
    return skip(reason('not-requested', `the request is ${request.state}`, 'nothing to do', { state: request.state }));
  }
  if (request.declinedBy.includes(view.launcherId)) {
    const told = request.declineReasons?.[view.launcherId];
    if (told?.rule === 'failed-over')
      return skip(reason('failed-over', told.text, 'nothing: the other pool serves it'));
    return skip(reason('already-declined', 'this pool has declined it', 'another pool, or a new request'));
  }
  return (
    judgeCandidates(request, view) ??
    judgeDecline(request, view) ??
    judgeProbe(request, view) ??
    judgeControls(request, view) ??
    judgeOpen(view) ??
    judgeHealth(request, view) ??
    judgeFirst(request, view)
  );
}

type Candidates = ReturnType<typeof findCandidates>;

/** Defers requests while `max-concurrency` is 0, as waiting would not help. */
function judgeOpen({ maxConcurrency, provider }: PoolView): Verdict | undefined {
  if (maxConcurrency !== 0) return undefined;
  return {
    action: 'defer',
    reason: reason(
      'max-concurrency',
      `provider "${provider}" accepts nothing: its max-concurrency is 0`,
      'another pool serves it, or max-concurrency is raised',
      { limit: 0 },
    ),
  };
}

/** Whether other pools come first: those of the preferred provider, of a better priority, or with the missing labels. */
function judgeCandidates(request: PlannedRequest, view: PoolView): Verdict | undefined {
  const candidates = findCandidates(request, view);
  return (
    judgePreferred(request, view, candidates) ??
    judgePriority(request, view, candidates) ??
    judgeLabels(request, view, candidates)
  );
}

function judgePreferred(request: PlannedRequest, view: PoolView, candidates: Candidates): Verdict | undefined {
  const { provider } = request;
  if (provider === null || provider === view.provider) return undefined;
  if (isProbe(request)) {
    const text = `it is to find out whether provider "${provider}" works again`;
    return skip(reason('yield-to-provider', text, `provider "${provider}" serves or declines it`, { provider }));
  }
  const preferred = candidates.find((pool) => pool.providerName === provider);
  if (!preferred) return undefined;
  return yieldTo(
    reason(
      'yield-to-provider',
      `the request asks for provider "${provider}", which is online`,
      `provider "${provider}" serves or declines it`,
      { provider, pool: preferred.name },
    ),
  );
}

function judgePriority(request: PlannedRequest, view: PoolView, candidates: Candidates): Verdict | undefined {
  // all others yield to the preferred provider; if it yielded to them, no pool would take the request
  const isPreferred = request.provider === view.provider;
  const better = candidates.find(
    (pool) => pool.priority < view.priority && !pool.paused && (!isPreferred || pool.providerName === view.provider),
  );
  if (!better) return undefined;
  return yieldTo(
    reason(
      'yield-to-priority',
      `pool "${better.providerName}/${better.name}" has priority ${better.priority}, this one ${view.priority}`,
      `pool "${better.providerName}/${better.name}" serves, pauses or declines it`,
      { provider: better.providerName, pool: better.name, priority: better.priority, ownPriority: view.priority },
    ),
  );
}

function judgeLabels(request: PlannedRequest, view: PoolView, candidates: Candidates): Verdict | undefined {
  const missing = missingLabels(request, view);
  if (missing.length === 0 || candidates.length === 0) return undefined;
  const pools = unique(candidates.map((pool) => `${pool.providerName}/${pool.name}`));
  return {
    action: 'defer',
    reason: reason(
      'label-elsewhere',
      `this pool lacks ${quoted(missing)}; ${quoted(pools)} can serve the request`,
      'one of these pools serves or declines it',
      { missing, pools },
    ),
  };
}

/**
 * Whether to leave a request without capacity here in the queue, because another pool of the same priority may have some. If
 * there are pools of lower priority this one has to accept it and pause, as they only start then.
 */
export function mayHaveCapacityElsewhere(request: PlannedRequest, view: PoolView): boolean {
  const others = findCandidates(request, view).filter((pool) => pool.launcherId !== view.launcherId);
  return (
    others.some((pool) => pool.priority === view.priority && !pool.paused) &&
    others.every((pool) => pool.priority <= view.priority)
  );
}

/** The first reason why this pool can never serve the request; `undefined` if it could. */
export function judgeDecline(request: PlannedRequest, view: PoolView): Verdict | undefined {
  const found =
    findPoolDisabled(view) ??
    findLabelDisabled(request, view) ??
    findLabelUnavailable(request, view) ??
    findImagesUnavailable(request, view) ??
    findNeverFits(request, view);
  return found && { action: 'decline', reason: found };
}

function findPoolDisabled(view: PoolView): Reason | undefined {
  if (view.pool.maxServers > 0) return undefined;
  return reason('pool-disabled', 'pool is disabled by max_servers', 'raise max-servers of the pool', {
    maxServers: view.pool.maxServers,
  });
}

function findLabelDisabled(request: PlannedRequest, view: PoolView): Reason | undefined {
  const disabled = unique(request.labels.filter((label) => view.disabledLabels.has(label)));
  if (disabled.length === 0) return undefined;
  return reason('label-disabled', `label(s) [${disabled.join(',')}] disabled by min-ready -1`, 'set min-ready to 0', {
    labels: disabled,
  });
}

function findLabelUnavailable(request: PlannedRequest, view: PoolView): Reason | undefined {
  const lacking = unique([
    ...missingLabels(request, view),
    ...request.labels.filter((label) => view.errorLabels.has(label)),
  ]);
  if (lacking.length === 0) return undefined;
  const known = new Set([...view.pool.labels.keys(), ...view.registered.flatMap((pool) => pool.supportedLabels)]);
  return reason(
    'label-unavailable',
    `node type(s) [${lacking.join(',')}] not available${unknownLabelsText(lacking, known)}`,
    'add the label to a pool, or correct its definition',
    { labels: lacking },
  );
}

function findImagesUnavailable(request: PlannedRequest, view: PoolView): Reason | undefined {
  const lacking = unique(request.labels.filter((label) => !view.labelReady(label)));
  return lacking.length === 0 ? undefined : imagesUnavailable(lacking);
}

/** Whether a reason for declining passes by itself: images come, and the total of a provider is an estimate. */
export function isPassing({ rule, details }: Reason): boolean {
  return rule === 'images-unavailable' || (rule === 'exceeds-quota' && details['level'] === 'provider');
}

/** The reason for declining a request whose images are not available. */
export function imagesUnavailable(labels: readonly string[]): Reason {
  return reason('images-unavailable', 'images are not available', 'build or upload the image of the label', { labels });
}

function findNeverFits(request: PlannedRequest, view: PoolView): Reason | undefined {
  return findOverCapacity(request, view) ?? findOverLimits(request, view);
}

function findOverCapacity(request: PlannedRequest, view: PoolView): Reason | undefined {
  for (const label of unique(request.labels)) {
    const capacity = view.labelCapacity(label);
    const needed = countOf(request.labels, label);
    if (capacity !== undefined && needed > capacity) {
      return reason(
        'exceeds-quota',
        `it would exceed quota: ${needed} of "${label}" asked for, the pool has ${capacity}`,
        'ask for fewer nodes or add some to the pool',
        { label, needed, available: capacity },
      );
    }
  }
  if (view.canHold?.(request.labels) ?? true) return undefined;
  return reason(
    'exceeds-quota',
    `it would exceed quota: the pool has nodes for each of [${labelsToText(request.labels)}], but not for all of them at once`,
    'ask for fewer nodes or add some to the pool',
    { labels: unique(request.labels) },
  );
}

function findOverLimits(request: PlannedRequest, view: PoolView): Reason | undefined {
  if (!view.launches) return undefined;
  const poolLimits = { instances: view.pool.maxServers, ...view.pool.maxResources };
  const { quota } = view;
  const need = sumResources(request.labels.map((label) => quota.need(label)));
  const overProvider = view.pool.ignoreProviderQuota ? undefined : findOverTotal(need, view);
  const over: Shortage | undefined = overProvider ?? findShortage(need, poolLimits);
  if (!over) return undefined;
  const whose = overProvider ? `provider "${view.provider}"` : `pool "${view.pool.name}"`;
  const use = overProvider ? useText(over.resource, quota) : '';
  return reason(
    'exceeds-quota',
    `it would exceed quota: needs ${amountText(over.needed, over.resource)}, ${whose} allows ${over.available} in all${use}`,
    overProvider ? 'raise the quota of the cloud project' : 'raise the limits of the pool',
    {
      resource: over.resource,
      needed: over.needed,
      available: over.available,
      level: overProvider ? 'provider' : 'pool',
    },
  );
}

/** What the cloud lacks for the need beside the use of others, if our nodes used nothing. */
function findOverRest(need: Resources, { providerTotal: total }: QuotaView): Shortage | undefined {
  return total && (findShortage(need, total) ?? findOverrun(total));
}

/** The limits of the cloud forbid it even without the use of others, which may end. Without steering that use counts, as in Nodepool. */
function findOverTotal(need: Resources, { quota, steering }: PoolView): Shortage | undefined {
  const over = findOverRest(need, quota);
  const { providerTotal: total } = quota;
  const others = over && steering && quota.usedByOthers; // a call of the driver
  if (!total || !others) return over;
  const limits = { ...total };
  for (const name in total) limits[name] = (total[name] ?? 0) + (others[name] ?? 0);
  return findShortage(need, limits) ?? findOverrun(limits);
}

/** Whether a request that is not declined only waits for others to leave capacity of the cloud, which may never happen. */
export function waitsForOthers(request: PlannedRequest, view: PoolView): boolean {
  return shortOfOthers(request, view) !== undefined;
}

/** What such a request lacks, in words; `undefined`: it lacks nothing that others use. */
export function othersText(request: PlannedRequest, view: PoolView): string | undefined {
  const over = shortOfOthers(request, view);
  if (!over) return undefined;
  const needed = `needs ${amountText(over.needed, over.resource)}`;
  return `others use up the quota: ${needed}, provider "${view.provider}" has ${over.available} for all own nodes${useText(over.resource, view.quota)}`;
}

function shortOfOthers({ labels }: PlannedRequest, view: PoolView): Shortage | undefined {
  if (!view.launches || view.pool.ignoreProviderQuota) return undefined;
  const { quota } = view; // computed at each access
  return findOverRest(sumResources(labels.map((label) => quota.need(label))), quota);
}

/** Who uses a resource of the provider, in words: ` (own nodes use 2, others 1)`; empty if others use none. */
export function useText(resource: string, { providerUsed, usedByOthers }: QuotaView): string {
  const others = usedByOthers?.[resource] ?? 0;
  return others > 0 ? ` (own nodes use ${providerUsed[resource] ?? 0}, others ${others})` : '';
}

function missingLabels(request: PlannedRequest, view: PoolView): string[] {
  return unique(request.labels.filter((label) => !view.pool.labels.has(label)));
}

/** Number of occurrences of a label in a list. */
export function countOf(labels: readonly string[], wanted: string): number {
  let count = 0;
  for (const label of labels) if (label === wanted) count++;
  return count;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function quoted(values: readonly string[]): string {
  return values.map((value) => `"${value}"`).join(', ');
}

function skip(found: Reason): Verdict {
  return { action: 'skip', reason: found };
}

function yieldTo(found: Reason): Verdict {
  return { action: 'yield', reason: found };
}
