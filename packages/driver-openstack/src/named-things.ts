import { ConfigError } from '@nodepool/core';
import type { Cached } from './cached.js';

/** Something in the cloud that a configuration names. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

/** Minimum interval between lookups of missing items. */
export const MISSING_LIFE_MS = 15_000;

/** Finds an item in the cached list, else in a fresh one. */
export async function lookUp<T, R>(known: Cached<T>, take: (value: T) => R): Promise<R> {
  try {
    return take(await known.get());
  } catch (error) {
    if (!(error instanceof ConfigError) || !known.flush(MISSING_LIFE_MS)) throw error;
    return take(await known.get());
  }
}

/** Things that a label names and the cloud may lack: noun and remedy. */
const THINGS = {
  Flavor: ['flavor', 'correct "flavor-name" or "min-ram" of the label, or create the flavor in the cloud'],
  Image: ['image', 'correct "image-name" or "image-id" of the cloud image, or upload the image to the cloud'],
  Network: ['network', 'correct "networks" of the label or its pool, or create the network in the cloud'],
  KeyPair: ['key pair', 'correct "key-name" of the label, or import the key pair for the user of the launcher'],
  SecurityGroup: ['security group', 'correct "security-groups" of the pool, or create the group in the project'],
  ServerGroup: ['server group', 'correct "server-group" of the label, or create the server group in the cloud'],
} as const;

/** The error for a thing that the cloud lacks. */
export function missing(thing: keyof typeof THINGS, message: string): ConfigError {
  return new ConfigError(message, [], { reason: `${thing}Missing`, nextStep: THINGS[thing][1] });
}

/** The thing with this id or name. @throws {ConfigError} there is none, or several */
export function theOne<T extends Named>(
  all: readonly T[],
  idOrName: string,
  thing: keyof typeof THINGS,
  label: string,
): T {
  const byId = all.find(({ id }) => id === idOrName);
  if (byId) return byId;
  const what = `label "${label}": ${THINGS[thing][0]} "${idOrName}"`;
  const named = all.filter(({ name }) => name === idOrName);
  const [found, ...others] = named;
  if (!found) {
    const known = [...new Set(all.map(({ name }) => name))].join(', ') || 'none';
    throw missing(thing, `${what} does not exist in the cloud; it has ${known}`);
  }
  if (others.length > 0) {
    const ids = named.map(({ id }) => id).join(', ');
    const details = {
      reason: `${thing}Ambiguous`,
      nextStep: `use the id of the ${THINGS[thing][0]} instead of its name`,
    };
    throw new ConfigError(`${what} is ambiguous (${ids}): use the id`, [], details);
  }
  return found;
}
