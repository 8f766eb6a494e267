import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { listOf, mapOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { inspectDrivers } from './inspect-drivers.js';
import { createDriverRegistry } from './discovery/registry.js';
import { loadConfig } from './load-config.js';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';
import { TOP_LEVEL_SCHEMA } from './top-level-schema.js';
import type { Config } from '../contract/config.js';
import { tempDir } from '../../test/support/temp-dir.js';

const here = dirname(fileURLToPath(import.meta.url));

/** The drivers of this workspace, found as in an installation. */
const places = { searchFrom: [here], conditions: ['@nodepool/source'] };
const usable = (await inspectDrivers(places)).filter(({ problem }) => problem === undefined);

/** A missing key of an existing map, with its default in the schema. */
interface Absent {
  readonly path: readonly (string | number)[];
  readonly value: Json;
}

/** Descends into lists of maps; other nested values are read as one. */
function absentKeys(schema: JsonObject, value: JsonObject, path: readonly (string | number)[] = []): Absent[] {
  return Object.entries(mapOf(schema['properties'])).flatMap(([key, described]) => {
    const { default: fallback, items } = mapOf(described);
    if (!(key in value)) return fallback === undefined ? [] : [{ path: [...path, key], value: fallback }];
    return listOf(value[key]).flatMap((item, index) => absentKeys(mapOf(items), mapOf(item), [...path, key, index]));
  });
}

function withValue(document: JsonObject, { path, value }: Absent): JsonObject {
  const copy = structuredClone(document);
  let holder: Json = copy;
  for (const part of path.slice(0, -1)) holder = (holder as Record<string | number, Json>)[part] ?? null;
  mapOf(holder)[String(path.at(-1))] = value;
  return copy;
}

/** Effective configuration, without its written form. */
async function inForce(document: JsonObject): Promise<unknown> {
  const file = join(tempDir({ 'nodepool.yaml': JSON.stringify(document) }), 'nodepool.yaml');
  const drivers = createDriverRegistry(places);
  const config: Config = await loadConfig({ file, env: {}, stateDir: '/state', drivers, mode: 'validate' });
  const providers = [...config.providers.values()].map((provider) => ({ ...provider, entry: null }));
  return { ...config, file: null, warnings: null, providers };
}

async function expectSame(document: JsonObject, absent: readonly Absent[]): Promise<void> {
  const before = await inForce(document);
  for (const key of absent) {
    expect(await inForce(withValue(document, key)), `${key.path.join('.')}: ${JSON.stringify(key.value)}`).toEqual(
      before,
    );
  }
}

function parse(file: string): JsonObject {
  const text = readFileSync(file, 'utf8');
  return mapOf(parseSource(file, text, substituteEnvironment(text, {})).value);
}

describe('defaults in schemas are the effective ones', () => {
  it('of the top level', async () => {
    const document = { labels: [{ name: 'a' }], diskimages: [{ name: 'i' }], webapp: {} };
    const { properties } = TOP_LEVEL_SCHEMA;
    const absent = [
      ...absentKeys(TOP_LEVEL_SCHEMA, document),
      ...absentKeys(mapOf(mapOf(properties)['webapp']), {}, ['webapp']),
    ];

    expect(absent.length).toBeGreaterThan(15);
    await expectSame(document, absent);
  });

  const examples = usable.flatMap(({ name, path }) =>
    readdirSync(join(path, 'examples'))
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => [name, file, join(path, 'examples', file)] as const),
  );

  it.each(examples)('of driver %s in its %s', async (name, _file, path) => {
    const document = parse(path);
    const driver = await createDriverRegistry(places).get(name);
    const entries = listOf(document['providers']).map(mapOf);
    const absent = entries.flatMap((entry, index) =>
      textOf(entry['driver']) === name ? absentKeys(driver.schema, entry, ['providers', index]) : [],
    );

    await expectSame(document, absent);
  });

  it('are checked for each driver', () => {
    expect(new Set(examples.map(([name]) => name))).toEqual(new Set(usable.map(({ name }) => name)));
    expect(usable.length).toBeGreaterThanOrEqual(4);
  });
});
