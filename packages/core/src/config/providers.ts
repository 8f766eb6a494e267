import type { JsonObject } from '@nodepool/zk-protocol';
import type { YamlPath } from '../contract/yaml-path.js';
import type { DriverRegistry } from './discovery/registry-types.js';
import type { Driver, ProblemReporter } from '../contract/driver.js';
import type { ProviderConfig } from '../contract/provider-config.js';
import { checkAccess, type AccessCheck } from './check-access.js';
import { checkPoolLimits } from './check-sense.js';
import { ANY_PROVIDER_SCHEMA } from './compose-schema.js';
import { reportDuplicates } from './duplicates.js';
import { driverNameOf, findDrivers } from './find-drivers.js';
import type { ProblemCollector } from './problems.js';
import {
  checkImageNames,
  checkPools,
  checkPoolLabelsAreKnown,
  checkProviderDiskimages,
  checkStops,
  warnOfFormerKeys,
  warnOfIdleProvider,
} from './provider-checks.js';
import { providerSchema } from './provider-schema.js';
import { type RepairedEntry, repairEntry } from './repair-entry.js';
import { checkSchema } from './schema-validator.js';
import { checkProviderSecrets } from './secret-checks.js';
import { readUnserved } from './unserved-providers.js';
import type { SourceDocument } from './source-document.js';
import type { ConfigMode, ConfigProblem, DiskimageConfig, LabelConfig, UnservedProvider } from '../contract/config.js';

/** Options of {@link readProviders}. */
export interface ProviderReading {
  readonly document: SourceDocument;
  readonly drivers: DriverRegistry;
  readonly mode: ConfigMode;
  /** Whether only providers with images are used, as by a builder. Default false. */
  readonly imagesOnly?: boolean | undefined;
  /** Whether a provider whose driver is missing is left out. Default: by services, not by validation. */
  readonly leavesUnserved?: boolean | undefined;
  readonly labels: ReadonlyMap<string, LabelConfig>;
  readonly diskimages: ReadonlyMap<string, DiskimageConfig>;
  readonly problems: ProblemCollector;
  /** Aborts loading of drivers. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stateDir?: string | undefined;
  /** Whether what the original does not take is an error. Default false. */
  readonly asOriginal?: boolean | undefined;
  /** Asks the clouds, too. */
  readonly access?: AccessCheck | undefined;
}

interface ReadProvider {
  readonly index: number;
  readonly driver: Driver;
  readonly config: ProviderConfig;
  /** Repairs that made the entry readable for the driver, if any. */
  readonly repaired: RepairedEntry | undefined;
}

/** The providers of a file and their drivers, both by name of the provider, in file order. */
export interface ReadProviders {
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly unserved: ReadonlyMap<string, UnservedProvider>;
}

/** Reads all provider entries. Reports and omits invalid ones. Of several entries with one name the last one counts. */
export async function readProviders(reading: ProviderReading, list: readonly JsonObject[]): Promise<ReadProviders> {
  const { leavesUnserved = reading.mode === 'service' } = reading;
  const { found, missing } = await findDrivers({ ...reading, leavesUnserved }, list);
  const unserved = readUnserved(reading, missing, list);
  const read = list.flatMap((entry, index) => {
    const driverName = driverNameOf(entry);
    if (missing.has(driverName)) return [];
    const provider = readProvider(reading, found.get(driverName), entry, index);
    return provider === undefined || unserved.has(provider.config.name) ? [] : [provider];
  });
  const names = { noun: 'provider', document: reading.document, path: ['providers'], lastCounts: true };
  reportDuplicates([...list], names, reading.problems);
  checkAcrossProviders(reading, read);
  const whole = read.filter(({ repaired }) => !repaired);
  if (reading.access) await checkAccess(reading, whole, reading.access);
  const drivenBy = new Map(whole.map(({ config, driver }) => [config.name, driver]));
  return {
    providers: new Map(whole.map(({ config }) => [config.name, config])),
    drivers: drivenBy,
    unserved,
  };
}

/** Reads a provider entry. If the driver is missing, checks only what all drivers have in common. */
function readProvider(
  reading: ProviderReading,
  driver: Driver | undefined,
  entry: JsonObject,
  index: number,
): ReadProvider | undefined {
  const { document, problems, mode, asOriginal } = reading;
  const schema = driver === undefined ? ANY_PROVIDER_SCHEMA : providerSchema(driver);
  const check = {
    schema,
    value: entry,
    document,
    path: ['providers', index],
    mode,
    problems,
    reveal: true,
    asOriginal,
  };
  const isValid = checkSchema(check);
  checkPools(entry, index, reading);
  checkProviderDiskimages(entry, index, reading);
  if (driver === undefined) return undefined;
  const repaired = isValid ? undefined : repairEntry(entry, schema);
  if (!isValid && repaired === undefined) return undefined;
  return readWithDriver(reading, driver, entry, index, repaired);
}

function readWithDriver(
  reading: ProviderReading,
  driver: Driver,
  entry: JsonObject,
  index: number,
  repaired: RepairedEntry | undefined,
): ReadProvider | undefined {
  const config = getProviderConfig(reading, driver, repaired?.entry ?? entry, index, repaired);
  if (config === undefined) return undefined;
  checkPoolLabelsAreKnown(config, entry, index, reading);
  checkPoolLimits(config, entry, index, reading);
  checkImageNames(config, index, reading);
  checkStops(config, driver, entry, index, reading);
  checkProviderSecrets(config, index, reading);
  warnOfFormerKeys(entry, index, reading);
  if (repaired === undefined) warnOfIdleProvider(config, entry, index, reading);
  return { index, driver, config, repaired };
}

/** Calls the driver. An exception of the driver becomes a problem, to also report the problems of other entries. */
function getProviderConfig(
  reading: ProviderReading,
  driver: Driver,
  entry: JsonObject,
  index: number,
  repaired: RepairedEntry | undefined,
): ProviderConfig | undefined {
  const { labels, diskimages } = reading;
  const report = reportAbout(reading, index, repaired);
  try {
    const config: unknown = driver.getProviderConfig(entry, {
      labels,
      diskimages,
      env: reading.env,
      stateDir: reading.stateDir,
      problem: (path, message, severity = 'error') => report(path, message, severity),
    });
    if (isProviderConfig(config)) return config;
    throw new TypeError('getProviderConfig returned no configuration with a name and pools');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (repaired === undefined) report([], `driver "${driver.name}" cannot read this entry: ${reason}`, 'error');
    return undefined;
  }
}

/** Checks the required members. */
function isProviderConfig(value: unknown): value is ProviderConfig {
  if (value === null || typeof value !== 'object') return false;
  const { name, driverName, pools } = value as Partial<ProviderConfig>;
  return typeof name === 'string' && typeof driverName === 'string' && pools instanceof Map;
}

type EntryReporter = (path: YamlPath, message: string, severity: ConfigProblem['severity']) => void;

/** Reports problems that a driver found at the position of the entry in the file. */
function reportAbout(reading: ProviderReading, index: number, repaired: RepairedEntry | undefined): EntryReporter {
  return (path, message, severity) => {
    if (repaired?.isAboutRepair(message) === true) return;
    const place = repaired?.originalPath(path) ?? path;
    reading.problems.add(reading.document, ['providers', index, ...place], message, { severity });
  };
}

function checkAcrossProviders(reading: ProviderReading, read: readonly ReadProvider[]): void {
  const { document, problems } = reading;
  for (const driver of new Set(read.map((provider) => provider.driver))) {
    const own = lastOfEachName(read.filter((provider) => provider.driver === driver));
    const report: ProblemReporter = (name, path, message, severity = 'error') => {
      const provider = own.get(name);
      if (provider === undefined) problems.add(document, ['providers'], message, { severity });
      else reportAbout(reading, provider.index, provider.repaired)(path, message, severity);
    };
    try {
      driver.checkAll?.(
        [...own.values()].map(({ config }) => config),
        report,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      problems.add(document, ['providers'], `driver "${driver.name}" cannot check its entries: ${reason}`);
    }
  }
}

/** Drivers identify providers by name; of several with the same name the last one applies. */
function lastOfEachName(read: readonly ReadProvider[]): Map<string, ReadProvider> {
  return new Map(read.map((provider) => [provider.config.name, provider]));
}
