import { mapOf, numberOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { LabelConfig } from '../contract/config.js';
import { didYouMean } from '../text/suggest.js';
import type { SenseCheck } from './check-sense.js';
import { namedEntries } from './raw-values.js';

/** Schema of `price` of a label. */
export const PRICE: JsonObject = {
  type: ['number', 'object'],
  minimum: 0,
  additionalProperties: { type: 'number', minimum: 0 },
  description: 'Price of one node for an hour, in any currency; or a map of providers to prices. See docs/usage.md',
  'x-default': 'none: usage has no cost',
  examples: [0.08, { 'cloud-east': 0.08, 'cloud-west': 0.11 }],
};

/** @param value - validated against {@link PRICE} */
export function readPrice(value: Json | undefined): LabelConfig['price'] {
  if (typeof value === 'number') return value;
  const entries = Object.entries(mapOf(value)).flatMap(([provider, price]) => {
    const known = numberOf(price);
    return known === undefined ? [] : [[provider, known] as const];
  });
  return entries.length === 0 ? undefined : new Map(entries);
}

/** Warns of prices for providers that the file does not have. */
export function checkPrices(top: JsonObject, { document, problems }: SenseCheck): void {
  const providers = namedEntries(top['providers']).map(({ name }) => name);
  for (const { index, name, entry } of namedEntries(top['labels'])) {
    for (const provider of Object.keys(mapOf(entry['price']))) {
      if (providers.includes(provider)) continue;
      const message = `label "${name}" has a price for provider "${provider}", which is not in the file${didYouMean(provider, providers)}`;
      problems.add(document, ['labels', index, 'price', provider], message, { severity: 'warning' });
    }
  }
}
