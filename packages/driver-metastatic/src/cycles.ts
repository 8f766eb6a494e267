import type { ProblemReporter } from '@nodepool/core';
import type { MetastaticLabelConfig, MetastaticProviderConfig } from './config.js';

interface Offer {
  readonly provider: string;
  readonly label: MetastaticLabelConfig;
}

/**
 * Reports cycles of labels and backing labels, across any number of providers: a request for such a label would request
 * backing nodes endlessly. Each cycle is reported once, at the entry that closes it.
 */
export function checkCycles(configs: readonly MetastaticProviderConfig[], problem: ProblemReporter): void {
  const offers = new Map<string, Offer[]>();
  for (const { name: provider, pools } of configs) {
    for (const pool of pools.values()) {
      for (const label of pool.labels.values()) {
        // already reported by the configuration reader
        if (label.backingLabel === label.name) continue;
        const others = offers.get(label.name) ?? [];
        offers.set(label.name, [...others, { provider, label }]);
      }
    }
  }
  const done = new Set<string>();
  for (const name of offers.keys()) visit(name, [], { offers, done, problem });
}

interface Search {
  readonly offers: ReadonlyMap<string, readonly Offer[]>;
  readonly done: Set<string>;
  readonly problem: ProblemReporter;
}

function visit(name: string, way: readonly Offer[], search: Search): void {
  if (search.done.has(name)) return;
  for (const offer of search.offers.get(name) ?? []) {
    const { backingLabel } = offer.label;
    const next = [...way, offer];
    const start = next.findIndex(({ label }) => label.name === backingLabel);
    if (start >= 0) report(next.slice(start), search.problem);
    else visit(backingLabel, next, search);
  }
  search.done.add(name);
}

function report(cycle: readonly Offer[], problem: ProblemReporter): void {
  const last = cycle.at(-1);
  if (!last) return;
  const { provider, label } = last;
  const steps = cycle.map((each) => `"${each.label.name}" (provider "${each.provider}")`).join(' on ');
  problem(
    provider,
    [...label.path, 'backing-label'],
    `backing label "${label.backingLabel}" leads back to label "${label.backingLabel}": ${steps} on "${label.backingLabel}": ` +
      'each request would ask for backing nodes without end; name a label of a provider that makes machines',
  );
}
