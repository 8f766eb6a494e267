import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { LabelValues, MetricDefinition } from '../table/definition.js';
import { METRICS, type StatsdKey } from '../table/table.js';
import { NameTemplate } from './names.js';
import { StatsdConnection } from './statsd-connection.js';

/** Address of the statsd daemon, and naming options. */
export interface StatsdTarget {
  readonly host: string;
  /** UDP port. */
  readonly port: number;
  /**
   * Dots in names of providers, pools, labels, images, zones and hosts become `_`, so that each is one level. Default
   * false: names are sent unmodified, as Nodepool does.
   */
  readonly normalize?: boolean | undefined;
}

/** Sends the metrics of the table to statsd. A call takes a few microseconds and never throws. */
export class Statsd {
  readonly #connection: StatsdConnection;
  readonly #names = new Map<StatsdKey, readonly NameTemplate[]>();

  constructor(target: StatsdTarget, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#connection = new StatsdConnection({ host: target.host, port: target.port, clock, logger });
    for (const [key, { statsd }] of Object.entries(METRICS) as [StatsdKey, MetricDefinition][]) {
      if (!statsd) continue;
      this.#names.set(
        key,
        statsd.names.map((name) => new NameTemplate(name, target.normalize)),
      );
    }
  }

  /** Number of lines that could not be sent. */
  get dropped(): number {
    return this.#connection.dropped;
  }

  /** Sets gauges. Skips infinite values, which statsd cannot represent. */
  gauge(key: StatsdKey, labels: LabelValues, value: number): void {
    if (!Number.isFinite(value)) return;
    for (const name of this.#fill(key, labels)) {
      this.#connection.send((client) => {
        // statsd reads a leading minus as a decrement
        if (value < 0) client.gauge(name, 0);
        client.gauge(name, value);
      });
    }
  }

  /** Reports an event: increments the counters by `count` and records `ms` in the timers of the metric. */
  report(key: StatsdKey, labels: LabelValues, ms = 0, count = 1): void {
    const { types } = METRICS[key].statsd;
    for (const name of this.#fill(key, labels)) {
      for (const type of types) {
        if (type === 'timer') this.#connection.send((client) => client.timing(name, rounded(ms)));
        else this.#connection.send((client) => client.counter(name, count));
      }
    }
  }

  /** Sends the remaining lines and closes the socket. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  *#fill(key: StatsdKey, labels: LabelValues): Generator<string> {
    for (const template of this.#names.get(key) ?? []) {
      const name = template.fill(labels);
      if (name !== undefined) yield name;
    }
  }
}

/** Rounds to microseconds. Smaller numbers would print in exponential notation, which statsd cannot parse. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
