import type { Readers, Sample } from './exposition.js';
import type { Statsd } from './statsd/statsd.js';
import type { LabelValues } from './table/definition.js';
import type { PrometheusKey, StatsdKey } from './table/table.js';

/** Sends gauges to statsd from the readers of the exposition, and a final zero for each removed series. */
export class GaugeSender {
  readonly #sent = new Map<string, ReadonlyMap<string, Sample>>();

  /** @param labels - labels available to every name */
  constructor(
    private readonly statsd: Statsd,
    private readonly readers: Readers,
    private readonly labels: LabelValues,
  ) {}

  /** @param everything - `false` sends only values that changed since the last call */
  send(keys: readonly (PrometheusKey & StatsdKey)[], everything: boolean): void {
    for (const key of keys) {
      const before = this.#sent.get(key);
      const now = new Map<string, Sample>();
      for (const sample of this.readers[key]?.() ?? []) {
        const [labels, value] = sample;
        const id = idOf(labels);
        now.set(id, sample);
        if (everything || before?.get(id)?.[1] !== value) this.#gauge(key, labels, value);
      }
      for (const [id, [labels]] of before ?? []) if (!now.has(id)) this.#gauge(key, labels, 0);
      this.#sent.set(key, now);
    }
  }

  #gauge(key: StatsdKey, labels: LabelValues, value: number): void {
    this.statsd.gauge(key, { ...this.labels, ...labels }, value);
  }
}

function idOf(labels: LabelValues): string {
  let id = '';
  for (const name in labels) id += `${labels[name as keyof LabelValues]}\0`;
  return id;
}
