import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { INSTANT, readDistribution, type Distribution } from './distribution.js';
import { sortFlavors } from './flavors.js';
import type { Flavor } from './types.js';

/** Failures to inject. Each has a rate from 0 (never, the default) to 1 (always). */
export const FAILURES = [
  'quota',
  'capacity',
  'error-state',
  'never-active',
  'api-down',
  'rate-limited',
  'connection-reset',
  'delete-error',
  'delete-stuck',
  'duplicate',
  'vanish',
  'hide',
  'resurrect',
  'no-ssh',
] as const;

/** One of {@link FAILURES}. */
export type Failure = (typeof FAILURES)[number];

/** Configurable delays. */
export const TIMES = [
  'create-time',
  'delete-time',
  'stop-time',
  'start-time',
  'api-time',
  'answer-time',
  'upload-time',
  'vanish-time',
  'hide-time',
] as const;

/** One of {@link TIMES}. */
export type TimeName = (typeof TIMES)[number];

/** SSH servers of instances. */
export interface SshSettings {
  readonly enabled: boolean;
  /** Loopback address; each instance has its own port. */
  readonly address: string;
  /** One key pair for all instances, which is faster, or one for each. */
  readonly hostKeys: 'shared' | 'per-instance';
  /** Public keys that may log in, as in `authorized_keys`, besides the cloud's own key. */
  readonly authorizedKeys: readonly string[];
}

/** Settings of a cloud. */
export interface CloudSettings {
  readonly times: Readonly<Record<TimeName, Distribution>>;
  readonly failures: Readonly<Record<Failure, number>>;
  /** `Infinity`: no limit. */
  readonly quota: { readonly instances: number; readonly cores: number; readonly ram: number };
  readonly zones: readonly string[];
  /** Smallest first. `undefined`: the default list, and any other flavor is made up. */
  readonly flavors: readonly Flavor[] | undefined;
  /** Names of images; `undefined`: every image exists. */
  readonly images: readonly string[] | undefined;
  /** Ids or names of images whose instances get status `error`. */
  readonly brokenImages: readonly string[];
  readonly ssh: SshSettings;
}

const KEYS = new Set<string>([
  ...TIMES,
  'failures',
  'quota',
  'availability-zones',
  'flavors',
  'images',
  'broken-images',
  'ssh',
]);
const RESOURCES = ['instances', 'cores', 'ram'] as const;
const TIME_DEFAULTS: Partial<Record<TimeName, Distribution>> = {
  'vanish-time': { kind: 'fixed', ms: 60_000 },
  'hide-time': { kind: 'fixed', ms: 5_000 },
};

/**
 * Reads settings as in YAML and fills in defaults.
 * @throws {TypeError} a value is wrong; the message names it and the expected form
 */
export function readSettings(json: JsonObject): CloudSettings {
  for (const key of Object.keys(json)) {
    if (!KEYS.has(key))
      throw new TypeError(`"${key}" is no setting of the cloud: the settings are ${[...KEYS].join(', ')}`);
  }
  const quota = part(json, 'quota', RESOURCES);
  const limit = (name: (typeof RESOURCES)[number]) => readLimit(quota[name], `quota.${name}`);
  const failures = part(json, 'failures', FAILURES);
  return {
    times: record(TIMES, (name) => {
      const value = json[name];
      return value === undefined ? (TIME_DEFAULTS[name] ?? INSTANT) : readDistribution(value, name);
    }),
    failures: record(FAILURES, (name) => readRate(failures[name], `failures.${name}`)),
    quota: { instances: limit('instances'), cores: limit('cores'), ram: limit('ram') },
    zones: readTexts(json['availability-zones'], 'availability-zones') ?? [],
    flavors: readFlavors(json['flavors']),
    images: readTexts(json['images'], 'images'),
    brokenImages: readTexts(json['broken-images'], 'broken-images') ?? [],
    ssh: readSsh(json['ssh']),
  };
}

/** Returns a copy with the value at a path such as `failures.quota`; `null` removes it. Does not validate. */
export function withSetting(json: JsonObject, path: string, value: Json): JsonObject {
  const [key = '', ...rest] = path.split('.');
  if (['__proto__', 'constructor', 'prototype'].includes(key)) throw new TypeError(`"${path}" is no setting`);
  const copy = { ...json };
  if (rest.length > 0) {
    const below = copy[key];
    const base = key === 'ssh' && typeof below === 'boolean' ? { enabled: below } : below;
    copy[key] = withSetting(isMap(base) ? base : {}, rest.join('.'), value);
  } else if (value === null) delete copy[key];
  else copy[key] = value;
  return copy;
}

function readRate(value: Json | undefined, name: string): number {
  if (value === undefined) return 0;
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new TypeError(`"${name}" is ${JSON.stringify(value)}, expected a rate from 0 (never) to 1 (always)`);
}

function readLimit(value: Json | undefined, name: string): number {
  if (value === undefined || value === -1) return Infinity;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new TypeError(`"${name}" is ${JSON.stringify(value)}, expected a whole number, or -1 for no limit`);
}

function readTexts(value: Json | undefined, name: string): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (isTexts(value)) return value;
  throw new TypeError(`"${name}" is ${JSON.stringify(value)}, expected a list of strings`);
}

function readFlavors(value: Json | undefined): readonly Flavor[] | undefined {
  if (value === undefined) return undefined;
  const flavors = Array.isArray(value) ? value.map(readFlavor) : [];
  if (!Array.isArray(value) || flavors.includes(undefined)) {
    throw new TypeError('"flavors" must be a list of {"name": string, "ram": MiB, "cores": number}');
  }
  return sortFlavors(flavors.filter((flavor) => flavor !== undefined));
}

function readFlavor(value: Json): Flavor | undefined {
  if (!isMap(value)) return undefined;
  const { name, ram, cores = 1 } = value;
  if (typeof name !== 'string' || typeof ram !== 'number' || typeof cores !== 'number') return undefined;
  return { name, ram, cores };
}

function readSsh(value: Json | undefined): SshSettings {
  const json: JsonObject =
    typeof value === 'boolean' ? { enabled: value } : part({ ssh: value ?? {} }, 'ssh', SSH_KEYS);
  const { enabled = value !== undefined, address = '127.0.0.1' } = json;
  const hostKeys = json['host-keys'] ?? 'shared';
  if (typeof enabled !== 'boolean') throw new TypeError('"ssh.enabled" must be true or false');
  if (typeof address !== 'string' || !/^(127\.\d+\.\d+\.\d+|::1)$/.test(address)) {
    throw new TypeError(`"ssh.address" is ${JSON.stringify(address)}, expected a loopback address such as 127.0.0.1`);
  }
  if (hostKeys !== 'shared' && hostKeys !== 'per-instance') {
    throw new TypeError('"ssh.host-keys" must be "shared" or "per-instance"');
  }
  return {
    enabled,
    address,
    hostKeys,
    authorizedKeys: readTexts(json['authorized-keys'], 'ssh.authorized-keys') ?? [],
  };
}

const SSH_KEYS = ['enabled', 'address', 'host-keys', 'authorized-keys'] as const;

function part<Name extends string>(json: JsonObject, key: string, names: readonly Name[]): JsonObject {
  const value = json[key] ?? {};
  if (!isMap(value)) throw new TypeError(`"${key}" must be a map with keys ${names.join(', ')}`);
  for (const name of Object.keys(value)) {
    if (!names.some((known) => known === name)) {
      throw new TypeError(
        `"${key}.${name}" is no setting of the cloud: the settings of "${key}" are ${names.join(', ')}`,
      );
    }
  }
  return value;
}

function record<Name extends string, T>(names: readonly Name[], valueOf: (name: Name) => T): Record<Name, T> {
  // Object.fromEntries loses the type of the names.
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, T>;
}

function isTexts(value: Json): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
