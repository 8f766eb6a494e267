import type { JsonObject } from '@nodepool/zk-protocol';
import { honestDriver } from '../honest-driver.js';
import { differing, readEntry, PLAN9, type BrokenDriver } from './broken-driver.js';

/** Flaws that break the part "config" of the contract. */
export const CONFIG: readonly BrokenDriver[] = [
  {
    flaw: 'warns about what is right',
    breaks: 'config: reads a valid entry',
    make: differing({
      driver: {
        getProviderConfig: (entry, context) => {
          context.problem([], 'bad weather', entry['cloud-images'] === undefined ? 'error' : 'warning');
          if (JSON.stringify(entry).includes('plan9')) context.problem([], 'no plan9');
          return readEntry(entry);
        },
      },
    }),
  },
  {
    flaw: 'adds to the entry it hands back',
    breaks: 'config: takes over what the entry says',
    make: (current) => {
      const driver = honestDriver(current);
      return {
        ...driver,
        getProviderConfig: (entry, context) => {
          const config = driver.getProviderConfig(entry, context);
          return { ...config, entry: { ...entry, seen: true } };
        },
      };
    },
  },
  {
    flaw: 'changes the entry it is given',
    breaks: 'config: leaves the entry as it is',
    make: (current) => {
      const driver = honestDriver(current);
      return {
        ...driver,
        getProviderConfig: (entry, context) => {
          const config = { ...driver.getProviderConfig(entry, context), entry: structuredClone(entry) };
          entry['seen'] = true;
          return config;
        },
      };
    },
  },
  {
    flaw: 'lets unknown keys pass in its pools',
    breaks: 'config: reports unknown keys, wherever they stand',
    make: (current) => {
      const driver = honestDriver(current);
      const { pools, ...properties } = driver.schema['properties'] as Record<string, JsonObject>;
      const items = { ...(pools?.['items'] as JsonObject), additionalProperties: true };
      return { ...driver, schema: { ...driver.schema, properties: { ...properties, pools: { ...pools, items } } } };
    },
  },
  {
    flaw: 'is never equal to itself',
    breaks: 'config: differs when its entry differs, and only then',
    make: (current) => {
      const driver = honestDriver(current);
      let reads = 0;
      return {
        ...driver,
        getProviderConfig: (entry, context) => ({
          ...driver.getProviderConfig(entry, context),
          equalityExtra: reads++,
        }),
      };
    },
  },
  {
    flaw: 'throws on bad input',
    breaks: PLAN9,
    make: differing({
      driver: {
        getProviderConfig: (entry) => {
          const config = readEntry(entry);
          if (config.cloudImages.has('plan9')) throw new Error('plan9!');
          return config;
        },
      },
    }),
  },
  {
    flaw: 'does without what it needs',
    breaks: 'config: refuses an entry without pools',
    make: (current) => {
      const driver = honestDriver(current);
      return { ...driver, schema: { ...driver.schema, required: [] } };
    },
  },
  { flaw: 'accepts bad input', breaks: PLAN9, make: differing({ driver: { getProviderConfig: readEntry } }) },
];
