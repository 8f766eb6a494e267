import { isLent, type Clock, type NodeRecord, type RecordChange } from '@nodepool/zk-protocol';
import type { LabelConfig } from '../contract/config.js';
import { priceOf } from '../contract/label-price.js';
import { BoundedNames, OTHER } from './bounded-names.js';
import type { Sample } from './exposition.js';
import type { LabelValues } from './table/definition.js';
import { isInternalRequestor, usagePhase, type UsagePhase } from './table/usage-phase.js';

/** What is counted per second of a node. */
const AMOUNTS = ['nodes', 'cores', 'ram', 'cost'] as const;
type Amount = (typeof AMOUNTS)[number];
type Rates = Readonly<Record<Amount, number>>;

const HOUR_S = 3_600;
/** Clients choose tenants; labels of nodes are in records that others may write. */
const MOST_TENANTS = 200;
const MOST_LABELS = 1_000;
/** Further combinations count for other tenants and labels. */
const MOST_SERIES = 10_000;

/** One counter of each amount. */
interface Series {
  readonly labels: LabelValues;
  /** Total of the time before {@link sinceMs}, in seconds. */
  readonly totals: Record<Amount, number>;
  /** Sum of the rates of its nodes. */
  readonly rates: Record<Amount, number>;
  sinceMs: number;
  isPriced: boolean;
}

interface CountedNode {
  readonly phase: UsagePhase;
  readonly series: Series;
  readonly rates: Rates;
}

/**
 * Resource-seconds of all nodes since the start, by tenant, label, provider and phase. A change of a node costs the same for one node
 * and for many: each series knows the sum of its rates.
 */
export class NodeSeconds {
  readonly #clock: Clock;
  readonly #labels: () => ReadonlyMap<string, LabelConfig>;
  readonly #series = new Map<string, Series>();
  readonly #nodes = new Map<string, CountedNode>();
  readonly #tenants = new BoundedNames(MOST_TENANTS);
  readonly #labelNames = new BoundedNames(MOST_LABELS);
  #lastMs: number;
  #behindMs = 0;

  /** @param labels - labels of the configuration in force */
  constructor(clock: Clock, labels: () => ReadonlyMap<string, LabelConfig>) {
    this.#clock = clock;
    this.#labels = labels;
    this.#lastMs = clock.now();
  }

  change({ id, after }: Pick<RecordChange<NodeRecord>, 'id' | 'after'>): void {
    const counted = this.#nodes.get(id);
    const phase = after && (phaseOf(after) ?? counted?.phase);
    const series = phase && this.#seriesOf(after, phase);
    if (counted && counted.series === series) return;
    if (counted) this.#add(counted.series, counted.rates, -1);
    this.#nodes.delete(id);
    if (!series) return;
    const rates = this.#ratesOf(after, series);
    this.#add(series, rates, 1);
    this.#nodes.set(id, { phase, series, rates });
  }

  /** The counters of one amount, now. */
  *samples(amount: Amount): Generator<Sample> {
    for (const series of this.#series.values()) {
      if (amount === 'cost' && !series.isPriced) continue;
      this.#countUp(series);
      // differences of rates may leave a tiny negative one
      yield [series.labels, Math.max(0, series.totals[amount])];
    }
  }

  #add(series: Series, rates: Rates, sign: 1 | -1): void {
    this.#countUp(series);
    for (const amount of AMOUNTS) series.rates[amount] += sign * rates[amount];
  }

  #countUp(series: Series): void {
    const nowMs = this.#now();
    for (const amount of AMOUNTS)
      series.totals[amount] += (Math.max(0, series.rates[amount]) * (nowMs - series.sinceMs)) / 1000;
    series.sinceMs = nowMs;
  }

  /** Continues where it was when the clock goes back: a counter must not decrease. */
  #now(): number {
    const nowMs = this.#clock.now() + this.#behindMs;
    if (nowMs < this.#lastMs) this.#behindMs += this.#lastMs - nowMs;
    else this.#lastMs = nowMs;
    return this.#lastMs;
  }

  #seriesOf({ labels: [first = ''], provider, tenantName }: NodeRecord, phase: UsagePhase): Series {
    const [tenant, label] = [this.#tenants.shown(tenantName), this.#labelNames.shown(first)];
    const known = this.#series.get(keyOf({ tenant, label, provider, phase }));
    if (known) return known;
    const isFull = this.#series.size >= MOST_SERIES;
    return this.#seriesFor({ ...(isFull ? { tenant: OTHER, label: OTHER } : { tenant, label }), provider, phase });
  }

  #seriesFor(values: SeriesValues): Series {
    const key = keyOf(values);
    let series = this.#series.get(key);
    if (!series) {
      const none = () => ({ nodes: 0, cores: 0, ram: 0, cost: 0 });
      series = { labels: values, totals: none(), rates: none(), sinceMs: this.#now(), isPriced: false };
      this.#series.set(key, series);
    }
    return series;
  }

  #ratesOf({ labels: [label = ''], provider, resources }: NodeRecord, series: Series): Rates {
    const price = priceOf(this.#labels().get(label), provider ?? '');
    if (price !== undefined) series.isPriced = true;
    return { nodes: 1, cores: resources?.['cores'] ?? 0, ram: resources?.['ram'] ?? 0, cost: (price ?? 0) / HOUR_S };
  }
}

type SeriesValues = Readonly<Record<'tenant' | 'provider', string | null> & { label: string; phase: UsagePhase }>;

const keyOf = ({ tenant, label, provider, phase }: SeriesValues) => `${tenant ?? ''}\0${label}\0${provider}\0${phase}`;

function phaseOf({ state, allocatedTo, requestor, userData }: NodeRecord): UsagePhase | undefined {
  const isAllocated = allocatedTo !== null && !isInternalRequestor(requestor);
  return usagePhase(state, isAllocated, isLent({ state, userData }));
}
