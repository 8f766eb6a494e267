import type { LabelConfig } from './config.js';

/** Price of a node for an hour; `undefined`: the configuration has none. */
export function priceOf(label: LabelConfig | undefined, provider: string): number | undefined {
  const price = label?.price;
  return typeof price === 'number' ? price : price?.get(provider);
}
