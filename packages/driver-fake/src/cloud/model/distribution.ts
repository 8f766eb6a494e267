import type { Json } from '@nodepool/zk-protocol';

/** Distribution of a duration, in milliseconds. */
export type Distribution =
  | { readonly kind: 'fixed'; readonly ms: number }
  | { readonly kind: 'uniform'; readonly minMs: number; readonly maxMs: number }
  | { readonly kind: 'exponential'; readonly meanMs: number };

/** No delay. */
export const INSTANT: Distribution = { kind: 'fixed', ms: 0 };

/**
 * Reads a time as in YAML: seconds, `{uniform: [from, to]}` or `{exponential: mean}`.
 * @throws {TypeError} the value has another form
 */
export function readDistribution(value: Json, name: string): Distribution {
  if (isSeconds(value)) return { kind: 'fixed', ms: value * 1000 };
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    const { uniform, exponential, ...rest } = value;
    if (Object.keys(rest).length === 0) {
      if (isSeconds(exponential) && uniform === undefined) return { kind: 'exponential', meanMs: exponential * 1000 };
      if (Array.isArray(uniform) && uniform.length === 2 && exponential === undefined) {
        const [from, to] = uniform;
        if (isSeconds(from) && isSeconds(to) && from <= to) {
          return { kind: 'uniform', minMs: from * 1000, maxMs: to * 1000 };
        }
      }
    }
  }
  throw new TypeError(
    `"${name}" is ${JSON.stringify(value)}, expected seconds, {"uniform": [from, to]} or {"exponential": mean}`,
  );
}

/** Samples a time in milliseconds. A fixed time uses no random number. */
export function sample(distribution: Distribution, random: () => number): number {
  switch (distribution.kind) {
    case 'fixed':
      return distribution.ms;
    case 'uniform':
      return distribution.minMs + random() * (distribution.maxMs - distribution.minMs);
    case 'exponential':
      return -Math.log(1 - random()) * distribution.meanMs;
  }
}

function isSeconds(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
