import type { JsonObject, RequestRecord } from '@nodepool/zk-protocol';
import { summarizeExplanation, supplyOfLabels } from '@nodepool/core/service';
import type { LabelSupply, SharedCondition } from '@nodepool/core/service';
import { conditionToApi, imageToApi } from '@nodepool/daemon';
import { controlToApi } from './controls.js';
import { whyNotLent } from './not-lent.js';
import { countNodes, providersToApi } from './providers.js';
import { createdMs, poolToApi, waitingRequests } from './records.js';
import type { LauncherApiSources } from './sources.js';

/** Limit of requests listed with a reason; the others are counted. */
const MAX_REQUESTS = 50;

/** Data of the status page. Has times instead of ages, so that it changes only when the state does. */
export function launcherOverview(sources: LauncherApiSources): JsonObject {
  const { runtime, activity } = sources;
  const conditions = sources.conditions.merged;
  const { all, byProvider } = countNodes(runtime.nodes.values());
  const waiting = waitingRequests(runtime.requests.values());
  const pending = [...runtime.requests.values()].filter(({ state }) => state === 'pending');
  return {
    not_ready: [...runtime.notReady],
    nodes: all,
    providers: providersToApi(sources, byProvider),
    pools: poolsToApi(sources),
    labels: labelsToApi(sources, supplyOf(sources, conditions)),
    controls: runtime.controls.map(controlToApi),
    hosts: countHosts(sources),
    requests: {
      ...{ waiting: waiting.length, pending: pending.length, waits: countWaits(sources, waiting, pending) },
      shown: [
        ...pending.slice(0, MAX_REQUESTS).map((request) => requestLine(sources, request, null, conditions)),
        ...waiting.slice(0, MAX_REQUESTS).map((request, index) => requestLine(sources, request, index, conditions)),
      ],
    },
    launches: activity.launches(),
    images: [...runtime.images.values()].map(imageToApi),
    errors: [
      ...runtime.providerErrors.map(({ provider, error }) => ({ time: null, provider, node: null, text: error })),
      ...runtime.failingDeletions.map(({ nodeId, attempts, error }) => ({
        ...{ time: null, provider: null, node: nodeId },
        text: `Deletion failed ${attempts} times: ${error ?? 'unknown reason'}`,
      })),
      ...activity.errors().slice(0, 20),
    ],
  };
}

/** Counts the listed requests by the pool they wait for, largest count first. */
function countWaits(
  { runtime }: LauncherApiSources,
  waiting: readonly RequestRecord[],
  pending: readonly RequestRecord[],
): JsonObject[] {
  const counts = new Map<string, number>();
  for (const { id } of [...pending.slice(0, MAX_REQUESTS), ...waiting.slice(0, MAX_REQUESTS)]) {
    const pools = runtime.explain({ requestId: id })?.pools ?? [];
    const wait = pools.find(({ action, rule }) => action === 'wait' || (action === 'handling' && rule !== 'accept'));
    if (!wait) continue;
    const pool = `${wait.provider}/${wait.pool}`;
    counts.set(pool, (counts.get(pool) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([pool, count]) => ({ pool, count }));
}

function countHosts({ runtime: { hosts } }: LauncherApiSources): JsonObject {
  return { total: hosts.length, down: hosts.filter(({ health }) => health === 'down').length };
}

function requestLine(
  { runtime }: LauncherApiSources,
  request: RequestRecord,
  position: number | null,
  conditions: readonly SharedCondition[],
): JsonObject {
  const explanation = runtime.explain({ requestId: request.id });
  const created = createdMs(request);
  return {
    ...{ id: request.id, state: request.state, labels: [...request.labels], position },
    ...{ tenant_name: request.tenantName, created_time: created === null ? null : created / 1000 },
    why: explanation ? summarizeExplanation(explanation, conditions) : '',
  };
}

/** Lists the registered pools of all launchers. */
export function poolsToApi({ runtime }: LauncherApiSources): JsonObject[] {
  const own = new Map(runtime.poolStatus.map((status) => [status.launcherId, status]));
  return [...runtime.components].map((pool) => poolToApi(pool, own.get(pool.launcherId)));
}

/** Lists labels with their supply, demand and conditions. */
export function labelsWithConditions(sources: LauncherApiSources): JsonObject[] {
  const supplies = supplyOf(sources, sources.conditions.merged);
  return labelsToApi(sources, supplies).map((label, i) => ({
    ...label,
    conditions: supplies[i]?.conditions.map(conditionToApi) ?? [],
  }));
}

function supplyOf({ runtime }: LauncherApiSources, conditions: readonly SharedCondition[]): LabelSupply[] {
  const { nodes, requests, components } = runtime;
  const rows = [...nodes.values()].map((node) => ({ node, locked: nodes.contenders(node.id) > 0 }));
  return supplyOfLabels({ pools: components, nodes: rows, requests: requests.values(), conditions });
}

function labelsToApi(
  { config, activity, lending, runtime }: LauncherApiSources,
  supplies: readonly LabelSupply[],
): JsonObject[] {
  const without = lending?.certificates.isOn ? lending.certificates.providersWithout() : undefined;
  return supplies.map(({ label, pools, ready, building, inUse, held, waiting }) => {
    const usualMs = activity.waits.usualMs(label);
    return {
      ...{ label, pools: [...pools], ready, building, in_use: inUse, hold: held, waiting },
      min_ready: config().labels.get(label)?.minReady ?? null,
      usual_wait: usualMs === undefined ? null : usualMs / 1000,
      takes_ssh_key: without?.get(label)?.length === 0,
      lendable: whyNotLent(runtime.components, label).length === 0,
    };
  });
}
