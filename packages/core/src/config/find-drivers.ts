import { listOf, orAbort, type JsonObject, textOf } from '@nodepool/zk-protocol';
import type { ConfigProblem } from '../contract/config.js';
import type { Driver } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { DEFAULT_DRIVER } from './compose-schema.js';
import type { DriverRegistry } from './discovery/registry-types.js';
import type { ProblemCollector } from './problems.js';
import { assertUsableSchema } from './provider-schema.js';
import type { SourceDocument } from './source-document.js';

/** Options of {@link findDrivers}. */
export interface FindDriversOptions {
  readonly document: SourceDocument;
  readonly drivers: DriverRegistry;
  readonly problems: ProblemCollector;
  /** Whether providers whose driver is missing are left out, as long as there are others. Default: that is an error. */
  readonly leavesUnserved: boolean;
  /** Whether only providers with images are used, as by a builder. Default false. */
  readonly imagesOnly?: boolean | undefined;
  /** Aborts loading of drivers. */
  readonly signal: AbortSignal;
}

/** Driver name of a provider entry; `undefined` if it is not text. */
export function driverNameOf(entry: JsonObject): string | undefined {
  return 'driver' in entry ? textOf(entry['driver']) : DEFAULT_DRIVER;
}

/** The drivers of a file. */
export interface FoundDrivers {
  readonly found: ReadonlyMap<string | undefined, Driver>;
  /** Drivers that no installed package has, and why, for providers that are left out. */
  readonly missing: ReadonlyMap<string | undefined, string>;
}

/**
 * Loads the drivers that entries name. Reports an unusable driver once, with all positions that name it. A missing one is
 * not an error if its providers may be left out, and other providers remain, or the service has no use for any.
 */
export async function findDrivers(options: FindDriversOptions, entries: readonly JsonObject[]): Promise<FoundDrivers> {
  const found = new Map<string | undefined, Driver>();
  const missing = new Map<string | undefined, string>();
  for (const name of new Set(entries.map(driverNameOf))) {
    if (name === undefined) continue;
    try {
      const driver = await orAbort(options.drivers.get(name), options.signal);
      const loaded = options.drivers.loaded().find((each) => each.driver === driver);
      assertUsableSchema(driver, loaded?.packageName);
      found.set(name, driver);
      for (const warning of loaded?.warnings ?? []) report(options, entries, name, warning, 'warning');
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      if (error.isMissing) missing.set(name, error.message);
      else report(options, entries, name, error.message, 'error');
    }
  }
  const isAnyLeft = missing.size < new Set(entries.map(driverNameOf)).size || isWithoutUse(options, entries);
  if (options.leavesUnserved && isAnyLeft) return { found, missing };
  for (const [name, reason] of missing) report(options, entries, name, reason, 'error');
  return { found, missing: new Map() };
}

/** Whether no entry has anything for the service. */
function isWithoutUse({ imagesOnly = false }: FindDriversOptions, entries: readonly JsonObject[]): boolean {
  return imagesOnly && entries.every((entry) => listOf(entry['diskimages']).length === 0);
}

/** Explains the driver of an entry that names none. */
export const IMPLIED = ' (without "driver", the driver is openstack)';

function report(
  { document, problems }: FindDriversOptions,
  entries: readonly JsonObject[],
  name: string | undefined,
  reason: string,
  severity: ConfigProblem['severity'],
): void {
  const indexes = [...entries.keys()].filter((index) => driverNameOf(entries[index] ?? {}) === name);
  const [first = 0, ...others] = indexes;
  const hint = indexes.some((index) => !('driver' in (entries[index] ?? {}))) ? IMPLIED : '';
  const also = others.length > 0 ? `; the same for ${others.map(describe).join(', ')}` : '';
  problems.add(document, ['providers', first, 'driver'], `${reason}${hint}${also}`, { severity });

  function describe(index: number): string {
    const provider = textOf(entries[index]?.['name']);
    const { line } = document.positionOf(['providers', index, 'driver']);
    return `${provider === undefined ? `providers[${index}]` : `"${provider}"`} in line ${line}`;
  }
}
