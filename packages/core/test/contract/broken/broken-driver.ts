import type { JsonObject } from '@nodepool/zk-protocol';
import {
  goto,
  readStateMachineProvider,
  type Driver,
  type NodeRequestHandler,
  type Provider,
  type ProviderContext,
} from '../../../src/index.js';
import { honestDriver, type Differences } from '../honest-driver.js';
import type { TestCloud } from '../test-cloud.js';

/** A driver that breaks one rule. */
export interface BrokenDriver {
  /** Description of the defect. */
  readonly flaw: string;
  /** Test that must fail, as `part: name`. */
  readonly breaks: string;
  /** Expected message for the driver's author. */
  readonly says?: RegExp;
  /** Other tests that fail; all remaining tests of their parts pass. */
  readonly also?: readonly string[];
  /** Whether all tests fail. */
  readonly spoilsAll?: boolean;
  readonly packageFile?: JsonObject;
  /** Driver name in configurations. Default: `honest`. */
  readonly driverName?: string;
  readonly make: (current: () => TestCloud) => Driver;
}

/** Names of tests that several defects break. */
export const CREATION = 'restart: loses nothing of a creation, at whatever moment the launcher dies';
export const DELETION = 'restart: continues a deletion, at whatever moment the launcher dies';
export const IN_USE = 'restart: keeps what is in use when a new launcher takes over';
export const MARKS = 'nothing left: marks all that it makes with the id of the database and the creation of the record';
export const OTHER_DATABASE =
  'nothing left: keeps what a launcher with another database made under the same name of the provider';
export const MANY = 'lists: makes more nodes at once than are looked up one by one';
export const ALL_LISTED = 'lists: lists everything that it made';
export const LEAKED = 'nothing left: deletes an instance that no record knows, and nothing else';
export const NOT_TAKEN_OVER =
  'nothing left: takes over nothing that a launcher with another database made under the same name';
export const LOST_REPLY = 'errors: makes no second instance when the answer to a creation is lost';
export const LATE_LISTING = 'errors: makes no second instance when lists show late what was made';
export const QUOTA_USED_UP = 'errors: aborts a launch without counting an attempt when the quota is used up';
export const CAPACITY = 'errors: reports a cloud without room as a lack of capacity';

/** The honest driver with these differences. */
export const differing = (differences: Differences) => (current: () => TestCloud) => honestDriver(current, differences);
/** The honest driver with some members replaced. */
export const driverWith = (changes: Partial<Driver>) => (current: () => TestCloud) => ({
  ...honestDriver(current),
  ...changes,
});

/** The honest driver with a modified provider. */
export const providerWith =
  (change: (provider: Provider, cloud: TestCloud, context: ProviderContext) => Partial<Provider>) =>
  (current: () => TestCloud): Driver => {
    const driver = honestDriver(current);
    return {
      ...driver,
      getProvider: (config, context) => {
        const provider = driver.getProvider(config, context);
        return replaceIn(provider, change(provider, current(), context));
      },
    };
  };

/** The honest driver with modified request handlers. */
export const handlerWith = (change: (handler: NodeRequestHandler) => Partial<NodeRequestHandler>) =>
  providerWith((provider) => ({
    getRequestHandler: (pool, request) => {
      const handler = provider.getRequestHandler(pool, request);
      return replaceIn(handler, change(handler));
    },
  }));

/** Copy that inherits all other members and calls them on the original. */
function replaceIn<T extends object>(original: T, changes: Partial<T>): T {
  return new Proxy(original, {
    get(from, key) {
      const value = (key in changes ? Reflect.get(changes, key) : Reflect.get(from, key)) as unknown;
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}

/** Copy without one member. */
export function hiding<T extends object>(original: T, hidden: keyof T): T {
  return new Proxy(original, {
    get(from, key) {
      const value: unknown = key === hidden ? undefined : Reflect.get(from, key);
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}

/** Reads an entry like the honest driver. */
export const readEntry = (entry: JsonObject) => ({
  ...readStateMachineProvider(entry, { driverName: 'honest' }),
  managesImages: true,
});

export const PLAN9 = 'config: refuses an image called plan9';

/** Creation that replaces the error with this code by another error. */
export function translate(code: string, error: () => Error): NonNullable<NonNullable<Differences['create']>['start']> {
  return async (_state, { cloud, order }) => {
    try {
      return goto({ name: 'waiting', externalId: await cloud.create(order.metadata, order.az) });
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === code) throw error();
      throw cause;
    }
  };
}
