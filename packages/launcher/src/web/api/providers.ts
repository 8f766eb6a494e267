import type { ControlRecord, JsonObject, NodeRecord } from '@nodepool/zk-protocol';
import { FLAG, listOf, NUMBER, NUMBERS, orNull, record, TEXT, TIME, WHOLE } from '@nodepool/daemon';
import { finite } from './records.js';
import type { LauncherApiSources } from './sources.js';

const ERROR = record({ time: TIME, provider: orNull(TEXT), node: orNull(TEXT), text: TEXT });

/** Schema of a provider. */
export const PROVIDER_SCHEMA = record({
  ...{ name: TEXT, driver: orNull(TEXT) },
  state: {
    ...TEXT,
    description:
      'running, failed, paused, draining, limited, unserved: its driver is missing, or elsewhere: served by other launchers only',
  },
  error: orNull(TEXT),
  ...{ nodes: NUMBERS, pools: listOf(TEXT), max_servers: orNull(WHOLE) },
  ...{ limits: orNull(NUMBERS), used: orNull(NUMBERS) },
  api: record({ calls_per_minute: NUMBER, calls_last_hour: WHOLE, failed_last_hour: WHOLE }),
  last_errors: listOf(ERROR),
  local: { ...FLAG, description: 'In the configuration of the launcher that answers' },
});

type NodeCounts = Map<string, Record<string, number>>;

/** Counts nodes by state, in total and by provider. */
export function countNodes(nodes: Iterable<NodeRecord>): { all: Record<string, number>; byProvider: NodeCounts } {
  const all: Record<string, number> = {};
  const byProvider: NodeCounts = new Map();
  for (const { provider, state } of nodes) {
    all[state] = (all[state] ?? 0) + 1;
    if (provider === null) continue;
    let counts = byProvider.get(provider);
    if (!counts) byProvider.set(provider, (counts = {}));
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return { all, byProvider };
}

/** Lists providers that are configured, registered or draining, or have nodes, by name. */
export function providersToApi(sources: LauncherApiSources, byProvider: NodeCounts): JsonObject[] {
  const { runtime, activity } = sources;
  const { providers, unserved } = sources.config();
  const errors = new Map(runtime.providerErrors.map(({ provider, error }) => [provider, error]));
  const draining = new Set(runtime.drainingProviders.map(({ provider }) => provider));
  const registered = [...runtime.components].map(({ providerName }) => providerName);
  const names = new Set([
    ...providers.keys(),
    ...(unserved?.keys() ?? []),
    ...draining,
    ...registered,
    ...byProvider.keys(),
  ]);
  const commanded = commandedStates(runtime.controls);
  const status = runtime.poolStatus;
  return [...names].sort().map((name) => {
    const config = providers.get(name);
    const own = status.filter(({ provider }) => provider === name);
    const error = errors.get(name) ?? null;
    const sum = own.reduce((total, { maxServers }) => total + maxServers, 0);
    return {
      ...{ name, driver: (config ?? unserved?.get(name))?.driverName ?? null, error },
      ...{ nodes: byProvider.get(name) ?? {}, local: config !== undefined },
      state: draining.has(name)
        ? 'draining'
        : error !== null
          ? 'failed'
          : (commanded.get(name) ??
            (config ? 'running' : unserved?.has(name) && !registered.includes(name) ? 'unserved' : 'elsewhere')),
      pools: [...(config?.pools.keys() ?? [])],
      max_servers: own.length > 0 && Number.isFinite(sum) ? sum : null,
      limits: own[0]?.providerLimits ? finite(own[0].providerLimits) : null,
      used: own[0] ? finite(own[0].providerUsed) : null,
      api: activity.calls(name),
      last_errors: activity.errors(name).slice(0, 5),
    };
  });
}

const STATE_BY_MODE: Readonly<Record<string, string>> = { pause: 'paused', drain: 'draining', limit: 'limited' };

/** States of providers that an operator paused, drains or limits. */
function commandedStates(controls: readonly ControlRecord[]): Map<string, string> {
  const own = controls.filter(({ kind }) => kind === 'provider');
  return new Map(own.map(({ name, mode }) => [name, STATE_BY_MODE[mode] ?? mode]));
}
