import { priceOf } from '@nodepool/core/config';
import { USAGE_PHASES } from '@nodepool/core/service';
import {
  ApiError,
  listOf,
  NUMBER,
  orNull,
  record,
  ref,
  TEXT,
  TIME,
  type ApiCall,
  type ApiOperation,
} from '@nodepool/daemon';
import {
  sumUsage,
  totalOf,
  USAGE_KEYS,
  UsageRecord,
  type Amounts,
  type UsageKey,
  type UsageRow,
} from '@nodepool/history';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { limitReaders } from './history-operations.js';
import { filter, timeParameterMs } from './parameters.js';
import type { LauncherApiSources } from './sources.js';

const DAY_MS = 86_400_000;

/** Schemas of usage, by name. */
export const USAGE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  ResourceSeconds: record({
    ...{ node_seconds: NUMBER, core_seconds: NUMBER, ram_mib_seconds: NUMBER },
    cost: { ...orNull(NUMBER), description: 'null if no label has a price' },
  }),
  Usage: record({
    ...{ launcher: TEXT, by: { ...TEXT, enum: [...USAGE_KEYS] }, since: TIME, until: TIME },
    rows: listOf(
      record({
        key: { ...orNull(TEXT), description: 'Tenant, project, label or provider; null: nodes that belong to none' },
        ...Object.fromEntries([...USAGE_PHASES, 'total'].map((phase) => [phase, ref('ResourceSeconds')])),
      }),
    ),
    notes: { ...listOf(TEXT), description: 'What is not exact' },
  }),
};

/** The operation that sums resource-seconds from the history of this launcher. */
export function usageOperation(sources: LauncherApiSources): ApiOperation {
  // it holds the record of all nodes in memory
  const limited = limitReaders(1);
  return {
    ...{
      id: 'getUsage',
      method: 'GET',
      path: '/usage',
      summary: 'Resource-seconds and cost of nodes of this launcher',
    },
    query: {
      by: filter(`What to split by: ${USAGE_KEYS.join(', ')}; default tenant`),
      since: filter('UNIX time, s; default 24 hours ago'),
      until: filter('UNIX time, s; default now'),
    },
    answer: ref('Usage'),
    handle: ({ query }) => limited(() => usageOf(sources, query)),
  };
}

async function usageOf(
  { history, hostname, clock, config, runtime }: LauncherApiSources,
  { by = 'tenant', since, until }: ApiCall['query'],
): Promise<Json> {
  if (!isKey(by)) throw new ApiError(400, 'bad-key', `by is one of ${USAGE_KEYS.join(', ')}`);
  const nowMs = clock.now();
  const sinceMs = timeParameterMs(since, nowMs - DAY_MS);
  const untilMs = Math.min(timeParameterMs(until, nowMs), nowMs);
  if (!(sinceMs < untilMs))
    throw new ApiError(
      400,
      'bad-time',
      'since and until are UNIX times in seconds, since the earlier one and in the past',
    );
  const past = new UsageRecord();
  await history.addTo(past);
  const { labels } = config();
  const { rows, notes } = sumUsage(past, {
    ...{ by, sinceMs, untilMs },
    exists: (node) => runtime.nodes.get(node) !== undefined,
    priceOf: (label, provider) => priceOf(labels.get(label), provider),
  });
  const shown = rows.map(rowToApi);
  return { launcher: hostname, by, since: sinceMs / 1000, until: untilMs / 1000, rows: shown, notes: [...notes] };
}

function isKey(by: unknown): by is UsageKey {
  return (USAGE_KEYS as readonly unknown[]).includes(by);
}

function rowToApi(row: UsageRow): JsonObject {
  const phases: JsonObject = {};
  for (const phase of USAGE_PHASES) phases[phase] = amountsToApi(row.phases[phase]);
  return { key: row.key, ...phases, total: amountsToApi(totalOf(row)) };
}

function amountsToApi({ nodeS, coreS, ramMibS, cost }: Amounts): JsonObject {
  return { node_seconds: nodeS, core_seconds: coreS, ram_mib_seconds: ramMibS, cost: cost ?? null };
}
