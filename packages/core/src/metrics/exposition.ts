import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LabelValues, MetricDefinition, PrometheusForm } from './table/definition.js';
import { METRICS, type PrometheusKey } from './table/table.js';

/** One value of a metric that is read on demand. */
export type Sample = readonly [labels: LabelValues, value: number];

/** Reads a metric. */
export type Reader = () => Iterable<Sample>;

/** Readers of the metrics that are read on demand. */
export type Readers = Readonly<Partial<Record<PrometheusKey, Reader>>>;

/** Metrics in the Prometheus text format. Uses its own registry, so that a process can have several. */
export class Exposition {
  readonly #registry = new Registry();
  readonly #counters = new Map<PrometheusKey, Counter>();
  readonly #histograms = new Map<PrometheusKey, Histogram>();

  /** @param readers - metrics that are read on demand; all other metrics count events */
  constructor(readers: Readers) {
    for (const [key, { help, prometheus }] of Object.entries(METRICS) as [PrometheusKey, MetricDefinition][]) {
      if (prometheus) this.#add(key, prometheus, help, readers[key]);
    }
  }

  /** Value of the `Content-Type` header. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  count(key: PrometheusKey, labels: LabelValues, step = 1): void {
    this.#counters.get(key)?.inc(known(labels), step);
  }

  /** @param ms - duration in milliseconds, exposed in seconds */
  observe(key: PrometheusKey, labels: LabelValues, ms: number): void {
    this.#histograms.get(key)?.observe(known(labels), ms / 1000);
  }

  /** The exposition. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  #add(key: PrometheusKey, { name, type, labels, buckets }: PrometheusForm, help: string, read?: Reader): void {
    const common = { name, help, labelNames: [...labels], registers: [this.#registry] };
    if (type === 'histogram') {
      this.#histograms.set(key, new Histogram({ ...common, buckets: [...(buckets ?? [])] }));
    } else if (type === 'counter') {
      this.#counters.set(key, new Counter({ ...common, ...(read && { collect: collectCounter(read) }) }));
    } else if (read) {
      // registers itself
      new Gauge({ ...common, collect: collectGauge(read) });
    } else {
      throw new TypeError(`metric "${name}" is a gauge that nothing reads`);
    }
  }
}

function collectGauge(read: Reader) {
  return function (this: Gauge): void {
    forget(this);
    // Infinity means no limit
    for (const [labels, value] of read()) if (Number.isFinite(value)) this.set(known(labels), value);
  };
}

function collectCounter(read: Reader) {
  return function (this: Counter): void {
    forget(this);
    for (const [labels, value] of read()) this.inc(known(labels), value);
  };
}

/** Removes all samples. `reset()` alone would leave a metric without labels at 0. */
function forget(metric: Gauge | Counter): void {
  metric.reset();
  metric.remove({});
}

/** Prometheus has no null; an empty label equals a missing one. */
function known(labels: LabelValues): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name in labels) values[name] = labels[name as keyof LabelValues] ?? '';
  return values;
}
