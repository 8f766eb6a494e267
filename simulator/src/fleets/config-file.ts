import { stringify } from 'yaml';
import type { Random } from '@nodepool/core/testing';
import { mapOf, type JsonObject } from '@nodepool/zk-protocol';
import { configText, fileOf, type ConfigSpec } from './config.js';

/** What is on the disk of a launcher, and what it means. */
export interface ConfigFile {
  /** `undefined`: there is no file. */
  readonly text: string | undefined;
  /** What it says; `undefined`: nothing that may ever be put in force. */
  readonly spec: ConfigSpec | undefined;
  /** Its provider whose driver no package has. */
  readonly unserved?: string;
}

/** A file as it should be. */
export const rightFile = (spec: ConfigSpec): ConfigFile => ({ text: configText(spec), spec });

type Breakage = (spec: ConfigSpec, random: Random) => string | undefined;

/** Ways in which a file is broken that says other things than the one in force. */
const OF_FILES: readonly Breakage[] = [
  () => undefined, // an editor replaces it
  () => '', // an editor begins to write it
  (spec, random) => halfOf(stringify(fileOf(spec), { collectionStyle: 'flow' }), random),
  (spec) => `${configText(spec)}}\n`,
  (spec) => `labels: [\n${configText(spec)}`,
];

/** Ways in which one provider is wrong. */
const OF_PROVIDERS: readonly Breakage[] = [
  (spec, random) => withEntry(spec, random, (entry) => ({ ...entry, pools: 'none' })),
  (spec, random) => withEntry(spec, random, ({ pools, ...entry }) => ({ ...entry, pools: [pools ?? null] })),
  (spec, random) => withEntry(spec, random, (entry) => ({ ...entry, 'max-concurrency': 'many' })),
  (spec, random) => withEntry(spec, random, (entry) => ({ ...entry, driver: ['fake'] })),
  (spec) => configText({ ...spec, labels: [] }),
];

/** A file that must not be put in force as it is. */
export function brokenFile(spec: ConfigSpec, random: Random): ConfigFile {
  const hasProviders = spec.providers.length > 0;
  if (hasProviders && random.chance(0.2)) return unservedFile(spec, random);
  const breakages = hasProviders ? [...OF_FILES, ...OF_PROVIDERS] : OF_FILES;
  return { text: random.pick(breakages)(otherThan(spec), random), spec: undefined };
}

/** A file that names a driver that is not installed. */
function unservedFile(spec: ConfigSpec, random: Random): ConfigFile {
  const index = random.int(0, spec.providers.length - 1);
  const providers = spec.providers.map((entry, i) => (i === index ? { ...entry, driver: 'not-installed' } : entry));
  const name = spec.providers[index]?.['name'];
  const rest = { ...spec, providers: spec.providers.filter((_entry, i) => i !== index) };
  return { text: configText({ ...spec, providers }), spec: rest, unserved: typeof name === 'string' ? name : '' };
}

/**
 * What a launcher that reads the file puts in force; `undefined`: nothing. A provider whose driver is missing is left out, unless it
 * is in service, or nothing would be left.
 * @param before - what it has in force; `undefined`: it starts
 */
export function acceptedOf({ spec, unserved }: ConfigFile, before: ConfigSpec | undefined): ConfigSpec | undefined {
  if (unserved === undefined) return spec;
  const isServed = before?.providers.some(({ name }) => name === unserved) === true;
  return isServed || spec?.providers.length === 0 ? undefined : spec;
}

/** Would change what is served if it were put in force. */
function otherThan({ labels, providers, ...rest }: ConfigSpec): ConfigSpec {
  const fewer = providers.length > 1 ? providers.slice(1) : providers;
  return { ...rest, labels: labels.map((label) => ({ ...label, minReady: 7 })), providers: fewer };
}

const halfOf = (text: string, random: Random): string => text.slice(0, random.int(1, text.lastIndexOf('}') - 1));

function withEntry(spec: ConfigSpec, random: Random, change: (entry: JsonObject) => JsonObject): string {
  const index = random.int(0, spec.providers.length - 1);
  const providers = spec.providers.map((entry, i) => (i === index ? change(mapOf(entry)) : entry));
  return configText({ ...spec, providers });
}
