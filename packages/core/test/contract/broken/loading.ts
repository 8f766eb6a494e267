import { type Driver } from '../../../src/index.js';
import { honestDriver } from '../honest-driver.js';
import { differing, driverWith, type BrokenDriver } from './broken-driver.js';

/** Flaws that break the part "loading" of the contract. */
export const LOADING: readonly BrokenDriver[] = [
  {
    flaw: 'has a name for people',
    breaks: 'loading: has a name that a configuration can contain',
    packageFile: { peerDependencies: { '@nodepool/core': '*' }, nodepool: { driver: 'Honest!', apiVersion: 1 } },
    driverName: 'Honest!',
    make: differing({ driver: { name: 'Honest!' } }),
  },
  {
    flaw: 'has a schema that is none',
    breaks: 'loading: has a schema that compiles',
    spoilsAll: true,
    make: driverWith({ schema: { type: 'object', properties: { rate: { type: 'nonsense' } } } }),
  },
  {
    flaw: 'is made for an older API',
    breaks: 'loading: is made for the driver API of this core',
    packageFile: { peerDependencies: { '@nodepool/core': '*' }, nodepool: { driver: 'honest', apiVersion: 0 } },
    make: driverWith({ apiVersion: 0 }),
  },
  {
    flaw: 'does not say whether it pauses',
    breaks: 'loading: says what it can do',
    make: driverWith({ capabilities: { launches: true, managesImages: true } as Driver['capabilities'] }),
  },
  {
    flaw: 'cannot be reset twice',
    breaks: 'loading: drops global state at each reset',
    make: (current) => {
      const driver = honestDriver(current);
      let isFresh = false;
      return {
        ...driver,
        reset: () => {
          if (isFresh) throw new Error('nothing to reset');
          isFresh = true;
        },
        get schema() {
          isFresh = false;
          return driver.schema;
        },
      };
    },
  },
  {
    flaw: 'begins to work when its provider is made',
    breaks: 'loading: makes a provider without doing anything yet',
    make: (current) => {
      const driver = honestDriver(current);
      return {
        ...driver,
        getProvider: (config, context) => {
          void context.zk.exists('/nodepool');
          return driver.getProvider(config, context);
        },
      };
    },
  },
  {
    flaw: 'has another name in its package.json',
    breaks: 'loading: is described in the same words by its package.json',
    packageFile: { peerDependencies: { '@nodepool/core': '*' }, nodepool: { driver: 'other', apiVersion: 1 } },
    make: differing({}),
  },
  {
    flaw: 'brings a core of its own',
    breaks: 'loading: is described in the same words by its package.json',
    packageFile: { dependencies: { '@nodepool/core': '*' }, nodepool: { driver: 'honest', apiVersion: 1 } },
    make: differing({}),
  },
];
