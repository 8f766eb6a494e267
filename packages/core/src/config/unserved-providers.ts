import type { JsonObject } from '@nodepool/zk-protocol';
import type { Config, ConfigMode, ConfigProblem, UnservedProvider } from '../contract/config.js';
import { UNSERVED_PROVIDER_SCHEMA } from './compose-schema.js';
import { driverNameOf, IMPLIED } from './find-drivers.js';
import type { ProblemCollector } from './problems.js';
import { countingEntries, namedEntries } from './raw-values.js';
import { checkSchema } from './schema-validator.js';
import type { SourceDocument } from './source-document.js';

/** Context of {@link readUnserved}. */
export interface UnservedReading {
  readonly document: SourceDocument;
  readonly problems: ProblemCollector;
  readonly mode: ConfigMode;
}

/**
 * Reads the entries whose driver is missing, and warns of each. Checks only name and driver, as the keys of an unknown driver
 * are not known. Of several entries with one name the last one counts.
 * @param missing - drivers that no installed package has, and why
 */
export function readUnserved(
  { document, problems, mode }: UnservedReading,
  missing: ReadonlyMap<string | undefined, string>,
  list: readonly JsonObject[],
): Map<string, UnservedProvider> {
  const unserved = new Map<string, UnservedProvider>();
  for (const [index, value] of list.entries()) {
    const reason = missing.get(driverNameOf(value));
    if (reason === undefined) continue;
    const path = ['providers', index];
    checkSchema({ schema: UNSERVED_PROVIDER_SCHEMA, value, document, path, mode, problems, reveal: true });
  }
  for (const { name, index, entry } of countingEntries([...list])) {
    const driverName = driverNameOf(entry) ?? '';
    const why = missing.get(driverName);
    if (why === undefined) continue;
    const reason = `${why}${'driver' in entry ? '' : IMPLIED}`;
    const message = `provider "${name}" is not served: ${reason}`;
    const problem = problems.add(document, ['providers', index, 'driver'], message, { severity: 'warning' });
    const diskimages = new Set(namedEntries(entry['diskimages']).map((image) => image.name));
    unserved.set(name, { name, driverName, reason, problem, pools: readPools(entry), diskimages });
  }
  return unserved;
}

/**
 * The errors of a changed configuration that would leave providers in service without a driver: most likely a typing error,
 * which must not end their service.
 */
export function newlyUnserved(before: Pick<Config, 'providers'>, after: Pick<Config, 'unserved'>): ConfigProblem[] {
  return [...(after.unserved?.values() ?? [])].flatMap(({ name, reason, problem }) => {
    const old = before.providers.get(name);
    if (old === undefined) return [];
    const remedy =
      `it is in service with driver "${old.driverName}": correct the driver; to end its service, remove the entry, or restart ` +
      'the services to leave it to others';
    return [{ ...problem, severity: 'error', message: `provider "${name}" would not be served: ${reason}; ${remedy}` }];
  });
}

function readPools(entry: JsonObject): Map<string, readonly string[]> {
  return new Map(
    namedEntries(entry['pools']).map((pool) => [
      pool.name,
      namedEntries(pool.entry['labels']).map((label) => label.name),
    ]),
  );
}
