import type { JsonObject } from '@nodepool/zk-protocol';

/** Maps whose keys are names. */
const FREE = /(metadata|addresses)$/;

/** What of `fake` is not in `real`, or of another kind. Real services say more, and lists may be empty. */
export function strangeIn(fake: unknown, real: unknown, path: string): string[] {
  if (fake === null || real === null || real === undefined) {
    return fake === null || real === null ? [] : [`${path} is not in the real answer`];
  }
  if (Array.isArray(fake)) {
    if (!Array.isArray(real)) return [`${path} is a list`];
    return real.length === 0 || fake.length === 0 ? [] : strangeIn(fake[0], real[0], `${path}[0]`);
  }
  if (typeof fake !== 'object')
    return typeof fake === typeof real ? [] : [`${path} is ${typeof fake}, not ${typeof real}`];
  if (FREE.test(path)) return [];
  return Object.entries(fake).flatMap(([key, value]) => strangeIn(value, (real as JsonObject)[key], `${path}.${key}`));
}
