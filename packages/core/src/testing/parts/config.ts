import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { sameProviderConfig } from '../../config/compare.js';
import { formatProblem } from '../../config/problems.js';
import type { Harness } from '../harness/harness.js';
import { loadEntry, toJson, type LoadedEntry } from '../harness/load-entry.js';
import type { ContractPart, PartTest } from '../harness/part.js';
import type { Entry } from '../harness/types.js';

const UNKNOWN = 'no-such-key-anywhere';

/** Reading provider entries. */
export const config: ContractPart = {
  name: 'config',
  tests: ({ invalidConfigs }) => [
    ...always,
    ...Object.entries(invalidConfigs).map(([what, entry]) => refusal(what, entry)),
  ],
};

const always: readonly PartTest[] = [
  {
    name: 'reads a valid entry',
    run: async ({ harness }) => {
      const { problems, thrown } = await load(harness, harness.configuration.entry);
      assert.deepEqual(problems.map(formatProblem), [], 'validConfig has neither errors nor warnings');
      assert.deepEqual(thrown, []);
    },
  },
  {
    name: 'takes over what the entry says',
    run: async ({ harness }) => {
      const { configuration, driver } = harness;
      const { entry } = configuration;
      const read = await configuration.readProvider();
      assert.equal(read.name, entry['name'], 'name');
      assert.equal(read.driverName, driver.name, 'driverName is the name of the driver');
      assert.deepEqual(read.entry, entry, 'entry is the entry as written: changes are told by it');
      assert.deepEqual([...read.pools.keys()], poolNames(entry), 'pools are those of the entry, by name');
      for (const [name, pool] of read.pools) {
        assert.equal(pool.name, name, 'a pool is kept under its own name');
        assert.ok(pool.labels.size > 0, `pool "${name}" has labels`);
        assert.equal(typeof pool.maxServers, 'number', 'maxServers is a number, Infinity without limit');
      }
    },
  },
  {
    name: 'leaves the entry as it is',
    run: async ({ harness }) => {
      const { driver, configuration } = harness;
      const { labels, diskimages } = await configuration.read();
      const copy = structuredClone(configuration.entry);
      driver.getProviderConfig(copy, { labels, diskimages, problem: () => {} });
      assert.ok(isDeepStrictEqual(copy, configuration.entry), 'getProviderConfig does not change its argument');
    },
  },
  {
    name: 'reports unknown keys, wherever they stand',
    run: async ({ harness }) => {
      for (const [place, entry] of withUnknownKeys(harness.configuration.entry)) {
        const { problems } = await load(harness, entry);
        const isTold = problems.some((problem) => formatProblem(problem).includes(UNKNOWN));
        assert.ok(isTold, `an unknown key in ${place} is reported: close the schema there`);
      }
    },
  },
  {
    name: 'differs when its entry differs, and only then',
    run: async ({ harness }) => {
      const first = await harness.configuration.readProvider();
      const second = await harness.configuration.readProvider();
      assert.ok(sameProviderConfig(first, second), 'the same entry read twice is equal: a reload changes nothing');
      const other = await harness.configuration.readProvider({
        ...structuredClone(harness.configuration.entry),
        'max-concurrency': 4711,
      });
      assert.ok(!sameProviderConfig(first, other), 'another entry is not equal: a reload takes it into use');
      assert.equal(other.maxConcurrency, 4711, 'max-concurrency is taken over');
    },
  },
];

function refusal(what: string, entry: Entry): PartTest {
  return {
    name: `refuses ${what}`,
    run: async ({ harness }) => {
      const { config: read, problems, thrown } = await load(harness, toJson(entry));
      assert.deepEqual(thrown, [], 'getProviderConfig does not throw: it calls context.problem');
      assert.ok(
        read === undefined,
        `there is an error: ${problems.map(formatProblem).join('; ') || 'no problem at all'}`,
      );
      const placed = problems.filter(({ path, severity }) => severity === 'error' && path.startsWith('providers[0]'));
      assert.ok(placed.length > 0, 'the error names its place in the provider entry');
    },
  };
}

function load(harness: Harness, entry: JsonObject): Promise<LoadedEntry> {
  return loadEntry(entry, harness.configuration.drivers, harness.configuration.file, { clock: harness.cloud.clock });
}

function poolNames(entry: JsonObject): Json[] {
  const pools = Array.isArray(entry['pools']) ? entry['pools'] : [];
  return pools.filter(isMap).map((pool) => pool['name'] ?? null);
}

/** Copies of the entry with an unknown key: one at the top level, and one for each nested list of maps. */
function* withUnknownKeys(entry: JsonObject): Generator<[place: string, entry: JsonObject]> {
  for (const path of placesIn(entry, [])) {
    const copy = structuredClone(entry);
    let at: Json = copy;
    for (const key of path) at = (at as Record<string | number, Json>)[key] ?? null;
    if (isMap(at)) at[UNKNOWN] = true;
    yield [path.length === 0 ? 'the entry' : path.join('.'), copy];
  }
}

function placesIn(value: JsonObject, path: readonly (string | number)[]): (string | number)[][] {
  const below = Object.entries(value).flatMap(([key, items]) =>
    Array.isArray(items) && isMap(items[0]) ? placesIn(items[0], [...path, key, 0]) : [],
  );
  return [[...path], ...below];
}
