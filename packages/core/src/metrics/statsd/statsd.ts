import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { LabelValues, MetricDefinition, LabelName } from '../table/definition.js';
import { METRICS, type StatsdKey } from '../table/table.js';
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

/** User-chosen names, which often contain dots. A dot must not create a level. */
const ESCAPED: ReadonlySet<LabelName> = new Set<LabelName>(['requestor', 'tenant', 'resource']);

/** Converts a name to a single level: `.` and `:` become `_`. */
export function escapeLevel(text: string): string {
  return text.replace(/[.:|@#\s]/g, '_');
}

/** Keeps dots and replaces characters that would end the name within a line. */
export function protectLine(text: string): string {
  return text.replace(/[:|@#\s]/g, '_');
}

/** Fills in names like `nodepool.label.<label>.nodes.<state>`. */
export class NameTemplate {
  readonly #literals: readonly string[];
  readonly #labels: readonly { readonly name: LabelName; readonly escape: (text: string) => string }[];

  /** @param normalize - also convert names of providers, labels, images and hosts to one level each */
  constructor(template: string, normalize = false) {
    const pieces = template.split(/<([a-z]+)>/);
    this.#literals = pieces.filter((_, i) => i % 2 === 0);
    this.#labels = pieces
      .filter((_, i) => i % 2 === 1)
      .map((piece) => {
        const name = piece as LabelName;
        return { name, escape: isOneLevel(name, normalize) ? escapeLevel : protectLine };
      });
  }

  /** @returns `undefined` if a required value is missing or empty */
  fill(values: LabelValues): string | undefined {
    let name = this.#literals[0] ?? '';
    for (let i = 0; i < this.#labels.length; i++) {
      const label = this.#labels[i];
      const value = label && values[label.name];
      if (!value) return undefined;
      name += label.escape(value) + (this.#literals[i + 1] ?? '');
    }
    return name;
  }
}

/** Names whose dots are intended levels. */
const DOTTED: ReadonlySet<LabelName> = new Set<LabelName>(['result', 'call', 'prefix']);

function isOneLevel(name: LabelName, normalize: boolean): boolean {
  return ESCAPED.has(name) || (normalize && !DOTTED.has(name));
}
