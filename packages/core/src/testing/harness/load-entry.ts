import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Json, JsonObject } from '@nodepool/zk-protocol';
import { loadConfig } from '../../config/load-config.js';
import type { Config, ConfigMode, ConfigProblem } from '../../contract/config.js';
import type { Driver } from '../../contract/driver.js';
import { ConfigError } from '../../contract/errors.js';
import { registryOf } from './registry-of.js';
import type { Entry } from './types.js';

/** Result of loading a provider entry. */
export interface LoadedEntry {
  /** `undefined` if loading failed. */
  readonly config: Config | undefined;
  readonly problems: readonly ConfigProblem[];
  /** Exceptions of `getProviderConfig`, which must not throw. */
  readonly thrown: readonly unknown[];
}

/** Loads an entry like a launcher: from a file, with all checks of core. */
export async function loadEntry(
  entry: JsonObject,
  drivers: readonly Driver[],
  file: JsonObject = {},
  options: { mode?: ConfigMode; clock?: Clock } = {},
): Promise<LoadedEntry> {
  const thrown: unknown[] = [];
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-contract-'));
  try {
    const path = join(dir, 'nodepool.yaml');
    await writeFile(path, JSON.stringify(wholeFile(entry, file)));
    const config = await loadConfig({
      file: path,
      env: {},
      drivers: registryOf(...drivers.map((driver) => noteThrown(driver, thrown))),
      mode: options.mode ?? 'validate',
      clock: options.clock,
    });
    return { config, problems: config.warnings, thrown };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { config: undefined, problems: error.problems, thrown };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Converts an entry as a YAML file would: keys with undefined values are dropped. */
export function toJson(entry: Entry): JsonObject {
  return JSON.parse(JSON.stringify(entry)) as JsonObject;
}

function noteThrown(driver: Driver, thrown: unknown[]): Driver {
  return {
    name: driver.name,
    apiVersion: driver.apiVersion,
    capabilities: driver.capabilities,
    schema: driver.schema,
    reset: driver.reset?.bind(driver),
    checkAll: driver.checkAll?.bind(driver),
    getProvider: (config, context) => driver.getProvider(config, context),
    getProviderConfig: (entry, context) => {
      try {
        return driver.getProviderConfig(entry, context);
      } catch (error) {
        thrown.push(error);
        throw error;
      }
    },
  };
}

/** Complete file: the entry first, then the configuration it depends on and all labels used. */
function wholeFile(entry: JsonObject, file: JsonObject): JsonObject {
  const others = Array.isArray(file['providers']) ? file['providers'] : [];
  const providers = [entry, ...others];
  const labels = [...new Set(labelsIn(providers))].map((name) => ({ name }));
  return { labels, ...file, providers };
}

/** Names in all `labels` keys: objects with a name, strings, or one string separated by blanks. */
function labelsIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(labelsIn);
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, below]) => (key === 'labels' ? namesIn(below) : labelsIn(below)));
}

function namesIn(labels: Json): string[] {
  if (typeof labels === 'string') return labels.split(/\s+/).filter((name) => name !== '');
  if (!Array.isArray(labels)) return [];
  return labels.flatMap((label) => {
    if (typeof label === 'string') return label.split(/\s+/);
    const name = label !== null && typeof label === 'object' && !Array.isArray(label) ? label['name'] : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}
