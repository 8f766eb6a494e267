import type { Installation, OfferedPool } from './installation.js';
import type { StateCounts } from './node-counts.js';
import type { Statsd } from './statsd/statsd.js';

/** Sends the figures of the installation, and a last zero for what has vanished. */
export class InstallationGauges {
  readonly #statsd: Statsd;
  readonly #installation: Installation;
  #labels: ReadonlySet<string> = new Set();
  #providers: ReadonlySet<string> = new Set();
  #pools = new Map<string, OfferedPool>();

  constructor(statsd: Statsd, installation: Installation) {
    this.#statsd = statsd;
    this.#installation = installation;
  }

  /** @param everything - false: of labels and providers only those of which a node has changed, or that are new */
  send(everything: boolean): void {
    const { nodes } = this.#installation;
    this.#sendStates(nodes.all, (state, value) => this.#statsd.gauge('nodes', { state }, value));
    this.#labels = this.#sendGroups(
      { now: this.#installation.labels(), before: this.#labels, changed: nodes.labels.takeChanged(), everything },
      (label) => {
        const counts = nodes.labels.of(label);
        this.#sendStates(counts, (state, value) => this.#statsd.gauge('labelNodes', { label, state }, value));
      },
    );
    this.#providers = this.#sendGroups(
      {
        now: this.#installation.providers(),
        before: this.#providers,
        changed: nodes.providers.takeChanged(),
        everything,
      },
      (provider) => {
        const counts = nodes.providers.of(provider);
        this.#sendStates(counts, (state, value) => this.#statsd.gauge('providerNodes', { provider, state }, value));
      },
    );
    this.#sendPools();
  }

  #sendStates(counts: StateCounts, send: (state: string, value: number) => void): void {
    for (const state of counts.states()) send(state, counts.of(state));
  }

  /** What has vanished has no nodes, so its figures are zeros. @returns what there is now */
  #sendGroups(
    groups: { now: Set<string>; before: ReadonlySet<string>; changed: ReadonlySet<string>; everything: boolean },
    send: (name: string) => void,
  ): ReadonlySet<string> {
    const { now, before, changed, everything } = groups;
    for (const name of now) if (everything || changed.has(name) || !before.has(name)) send(name);
    for (const name of before) if (!now.has(name)) send(name);
    return now;
  }

  #sendPools(): void {
    const { requests } = this.#installation;
    const gone = this.#pools;
    this.#pools = new Map();
    for (const offered of this.#installation.pools()) {
      const { provider, pool, labels } = offered;
      const key = `${provider}\0${pool}`;
      gone.delete(key);
      this.#pools.set(key, offered);
      this.#statsd.gauge('addressableRequests', { provider, pool }, requests.addressable(labels));
    }
    for (const { provider, pool } of gone.values()) this.#statsd.gauge('addressableRequests', { provider, pool }, 0);
  }
}
