import { orAbort, type JsonObject } from '@nodepool/zk-protocol';
import type { ConfigProblem } from '../contract/config.js';
import type { Driver } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { DEFAULT_DRIVER } from './compose-schema.js';
import type { DriverRegistry } from './discovery/registry-types.js';
import type { ProblemCollector } from './problems.js';
import { assertUsableSchema } from './provider-schema.js';
import { textOf } from './raw-values.js';
import type { SourceDocument } from './source-document.js';

/** Options of {@link findDrivers}. */
export interface FindDriversOptions {
  readonly document: SourceDocument;
  readonly drivers: DriverRegistry;
  readonly problems: ProblemCollector;
  /** Aborts loading of drivers. */
  readonly signal: AbortSignal;
}

/** Driver name of a provider entry; `undefined` if it is not text. */
export function driverNameOf(entry: JsonObject): string | undefined {
  return 'driver' in entry ? textOf(entry['driver']) : DEFAULT_DRIVER;
}

/** Loads the drivers that entries name. Reports an unusable driver once, with all positions that name it. */
export async function findDrivers(
  options: FindDriversOptions,
  entries: readonly JsonObject[],
): Promise<Map<string | undefined, Driver>> {
  const found = new Map<string | undefined, Driver>();
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
      report(options, entries, name, error.message, 'error');
    }
  }
  return found;
}

function report(
  { document, problems }: FindDriversOptions,
  entries: readonly JsonObject[],
  name: string,
  reason: string,
  severity: ConfigProblem['severity'],
): void {
  const indexes = [...entries.keys()].filter((index) => driverNameOf(entries[index] ?? {}) === name);
  const [first = 0, ...others] = indexes;
  const isImplied = indexes.some((index) => !('driver' in (entries[index] ?? {})));
  const hint = isImplied ? ' (without "driver", the driver is openstack)' : '';
  const also = others.length > 0 ? `; the same for ${others.map(describe).join(', ')}` : '';
  problems.add(document, ['providers', first, 'driver'], `${reason}${hint}${also}`, { severity });

  function describe(index: number): string {
    const provider = textOf(entries[index]?.['name']);
    const { line } = document.positionOf(['providers', index, 'driver']);
    return `${provider === undefined ? `providers[${index}]` : `"${provider}"`} in line ${line}`;
  }
}
