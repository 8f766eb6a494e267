import type { JsonObject } from '@nodepool/zk-protocol';
import { DriverError } from '../errors.js';
import type { DriverRegistry } from '../discovery/registry-types.js';
import type { Driver, JsonSchema, ProblemReporter, ProviderConfig } from '../driver/types.js';
import { orAbort } from '../operations/or-abort.js';
import { checkPoolLimits } from './check-sense.js';
import { composeProviderSchema } from './compose-schema.js';
import { reportDuplicates } from './duplicates.js';
import type { ProblemCollector } from './problems.js';
import { checkPools, checkPoolLabelsAreKnown, checkProviderDiskimages } from './provider-checks.js';
import { textOf } from './raw-values.js';
import { assertCompiles, checkSchema } from './schema-validator.js';
import type { SourceDocument } from './source-document.js';
import type { ConfigMode, DiskimageConfig, LabelConfig } from './types.js';

const DEFAULT_DRIVER = 'openstack';

/** What provider entries are read with. */
export interface ProviderReading {
  readonly document: SourceDocument;
  readonly drivers: DriverRegistry;
  readonly mode: ConfigMode;
  readonly labels: ReadonlyMap<string, LabelConfig>;
  readonly diskimages: ReadonlyMap<string, DiskimageConfig>;
  readonly problems: ProblemCollector;
  /** Gives up waiting for a driver. */
  readonly signal: AbortSignal;
}

interface ReadProvider {
  index: number;
  driver: Driver;
  config: ProviderConfig;
}

const composed = new WeakMap<JsonSchema, JsonSchema>();

/** Full schema of a driver's provider entries, common keys included. The same object for the same driver. */
export function providerSchema(driver: Driver): JsonSchema {
  const known = composed.get(driver.schema);
  if (known !== undefined) return known;
  const schema = composeProviderSchema(driver.schema);
  composed.set(driver.schema, schema);
  return schema;
}

/** Reads all provider entries, those in error left out and reported. In file order. */
export async function readProviders(
  reading: ProviderReading,
  list: readonly JsonObject[],
): Promise<Map<string, ProviderConfig>> {
  reportDuplicates([...list], { noun: 'provider', document: reading.document, path: ['providers'] }, reading.problems);
  const read: ReadProvider[] = [];
  for (const [index, entry] of list.entries()) {
    const provider = await readProvider(reading, entry, index);
    if (provider !== undefined) read.push(provider);
  }
  checkAcrossProviders(reading, read);
  return new Map(read.map(({ config }) => [config.name, config]));
}

async function readProvider(
  reading: ProviderReading,
  entry: JsonObject,
  index: number,
): Promise<ReadProvider | undefined> {
  const { document, problems, mode } = reading;
  const path = ['providers', index];
  const driver = await findDriver(reading, entry, index);
  if (driver === undefined) return undefined;
  const check = { schema: providerSchema(driver), value: entry, document, path, mode, problems, reveal: true };
  const isValid = checkSchema(check);
  checkPools(entry, index, reading);
  checkProviderDiskimages(entry, index, reading);
  if (!isValid) return undefined;
  const config = getProviderConfig(reading, driver, entry, index);
  if (config === undefined) return undefined;
  checkPoolLabelsAreKnown(config, entry, index, reading);
  checkPoolLimits(config, entry, index, reading);
  return { index, driver, config };
}

/** A driver that cannot be used is a problem of each entry naming it. */
async function findDriver(reading: ProviderReading, entry: JsonObject, index: number): Promise<Driver | undefined> {
  const { document, problems, drivers, signal } = reading;
  const name = textOf(entry['driver']) ?? DEFAULT_DRIVER;
  try {
    const driver = await orAbort(drivers.get(name), signal);
    assertCompiles(name, providerSchema(driver));
    return driver;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const hint = 'driver' in entry ? '' : ' (without "driver", the driver is openstack)';
    problems.add(document, ['providers', index, 'driver'], `${error.message}${hint}`);
    return undefined;
  }
}

/** A driver that throws is broken; it must not hide the problems of the other entries. */
function getProviderConfig(
  reading: ProviderReading,
  driver: Driver,
  entry: JsonObject,
  index: number,
): ProviderConfig | undefined {
  const { document, problems, labels, diskimages } = reading;
  try {
    const config: unknown = driver.getProviderConfig(entry, {
      labels,
      diskimages,
      problem(path, message, severity = 'error') {
        problems.add(document, ['providers', index, ...path], message, { severity });
      },
    });
    if (isProviderConfig(config)) return config;
    throw new TypeError('getProviderConfig returned no configuration with a name and pools');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    problems.add(document, ['providers', index], `driver "${driver.name}" cannot read this entry: ${reason}`);
    return undefined;
  }
}

/** The members without which nothing works. */
function isProviderConfig(value: unknown): value is ProviderConfig {
  if (value === null || typeof value !== 'object') return false;
  const { name, driverName, pools } = value as Partial<ProviderConfig>;
  return typeof name === 'string' && typeof driverName === 'string' && pools instanceof Map;
}

function checkAcrossProviders({ document, problems }: ProviderReading, read: readonly ReadProvider[]): void {
  for (const driver of new Set(read.map((provider) => provider.driver))) {
    const own = read.filter((provider) => provider.driver === driver);
    const indexes = new Map(own.map(({ config, index }) => [config.name, index]));
    const report: ProblemReporter = (provider, path, message, severity = 'error') => {
      const index = indexes.get(provider);
      const place = index === undefined ? ['providers'] : ['providers', index, ...path];
      problems.add(document, place, message, { severity });
    };
    try {
      driver.checkAll?.(
        own.map(({ config }) => config),
        report,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      problems.add(document, ['providers'], `driver "${driver.name}" cannot check its entries: ${reason}`);
    }
  }
}
