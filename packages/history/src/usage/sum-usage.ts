import { USAGE_PHASES, type UsagePhase } from '@nodepool/core/service';
import type { UsageLimits, UsageRecord, UsageWindow } from './usage-record.js';

/** What usage can be split by. */
export const USAGE_KEYS = ['tenant', 'project', 'label', 'provider'] as const;
/** One of {@link USAGE_KEYS}. */
export type UsageKey = (typeof USAGE_KEYS)[number];

/** Resource-seconds. */
export interface Amounts {
  nodeS: number;
  coreS: number;
  ramMibS: number;
  /** `undefined`: no price applies. */
  cost: number | undefined;
}

/** The usage of one tenant, project, label or provider. */
export interface UsageRow {
  /** `null`: nodes that belong to none, such as those that stand by. */
  readonly key: string | null;
  readonly phases: Readonly<Record<UsagePhase, Amounts>>;
}

/** Usage within a window. */
export interface Usage {
  /** Largest first. */
  readonly rows: readonly UsageRow[];
  /** Limits of the accuracy, a sentence each. */
  readonly notes: readonly string[];
}

/** Options of {@link sumUsage}. */
export interface UsageOptions extends UsageWindow {
  readonly by: UsageKey;
  /** Price of a node for an hour; `undefined`: unknown. */
  readonly priceOf: (label: string, provider: string) => number | undefined;
}

const HOUR_S = 3_600;

/** Sums the resource-seconds of a record. */
export function sumUsage(record: UsageRecord, options: UsageOptions): Usage {
  const limits: UsageLimits = { lostEnds: 0, openEnds: 0, withoutResources: 0 };
  const rows = new Map<string | null, Record<UsagePhase, Amounts>>();
  const unpriced = new Set<string>();
  let isPriced = false;
  for (const { phase, owner, label, pool, resources, ms } of record.times(options, limits)) {
    const provider = pool.slice(0, pool.lastIndexOf('/'));
    const { tenant, project } = owner;
    const key = { tenant, project, label, provider }[options.by] ?? null;
    const price = options.priceOf(label, provider);
    if (price === undefined) unpriced.add(`"${label}" of ${provider}`);
    else isPriced = true;
    let row = rows.get(key);
    if (!row) rows.set(key, (row = noUsage()));
    add(row[phase], ms / 1000, resources, price);
  }
  const sorted = [...rows]
    .map(([key, phases]) => ({ key, phases }))
    .sort((a, b) => totalOf(b).nodeS - totalOf(a).nodeS);
  return { rows: sorted, notes: notesOf(record, options, limits, isPriced ? unpriced : new Set()) };
}

/** The sum over all phases. */
export function totalOf({ phases }: Pick<UsageRow, 'phases'>): Amounts {
  const total: Amounts = { nodeS: 0, coreS: 0, ramMibS: 0, cost: undefined };
  for (const { nodeS, coreS, ramMibS, cost } of Object.values(phases)) {
    total.nodeS += nodeS;
    total.coreS += coreS;
    total.ramMibS += ramMibS;
    if (cost !== undefined) total.cost = (total.cost ?? 0) + cost;
  }
  return total;
}

function noUsage(): Record<UsagePhase, Amounts> {
  const none = () => ({ nodeS: 0, coreS: 0, ramMibS: 0, cost: undefined });
  return Object.fromEntries(USAGE_PHASES.map((phase) => [phase, none()])) as Record<UsagePhase, Amounts>;
}

function add(
  amounts: Amounts,
  seconds: number,
  resources: Readonly<Record<string, number>> | undefined,
  price: number | undefined,
): void {
  amounts.nodeS += seconds;
  amounts.coreS += seconds * (resources?.['cores'] ?? 0);
  amounts.ramMibS += seconds * (resources?.['ram'] ?? 0);
  if (price !== undefined) amounts.cost = (amounts.cost ?? 0) + (seconds / HOUR_S) * price;
}

function notesOf(
  { fromMs, toMs, clockWentBackMs }: UsageRecord,
  { sinceMs, untilMs }: UsageWindow,
  { lostEnds, openEnds, withoutResources }: UsageLimits,
  unpriced: ReadonlySet<string>,
): string[] {
  const notes: string[] = [];
  const say = (isSo: boolean, text: () => string) => void (isSo && notes.push(text()));
  say(
    fromMs > sinceMs && fromMs < Infinity,
    () => `the history begins at ${isoTime(fromMs)}: earlier usage is missing`,
  );
  say(toMs > untilMs + FUTURE_MS, () => `the history reaches to ${isoTime(toMs)}, after the end of the time shown`);
  say(
    clockWentBackMs !== undefined,
    () => `the clock of a launcher went back to ${isoTime(clockWentBackMs ?? 0)}: times around it are wrong`,
  );
  say(lostEnds > 0, () => `the end of ${lostEnds} nodes is not on record: they count until the last recorded event`);
  say(openEnds > 0, () => `${openEnds} nodes have no end on record: they count until the end of the history`);
  say(withoutResources > 0, () => `cores and RAM of ${withoutResources} nodes are not on record`);
  say(unpriced.size > 0, () => `no price for label ${[...unpriced].sort().join(', ')}: their cost is missing`);
  return notes;
}

/** The window ends now, and the clocks of launchers may differ. */
const FUTURE_MS = 60_000;

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
