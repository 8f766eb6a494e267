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
  /** How it is broken. */
  readonly flaw: string;
  /** The test that must fail, as `part: name`. */
  readonly breaks: string;
  /** What the author reads. */
  readonly says?: RegExp;
  /** Further tests that fail with it, and no others of their parts. */
  readonly also?: readonly string[];
  /** Nothing works with it. */
  readonly spoilsAll?: boolean;
  readonly packageFile?: JsonObject;
  /** What configurations call it. Default: `honest`. */
  readonly driverName?: string;
  readonly make: (current: () => TestCloud) => Driver;
}

/** Names of tests that several flaws break. */
export const CREATION = 'restart: loses nothing of a creation, at whatever moment the launcher dies';
export const DELETION = 'restart: continues a deletion, at whatever moment the launcher dies';
export const IN_USE = 'restart: keeps what is in use when a new launcher takes over';
export const MARKS = 'nothing left: marks all that it makes with the id of the database';
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
/** The honest driver with other members. */
export const driverWith = (changes: Partial<Driver>) => (current: () => TestCloud) => ({
  ...honestDriver(current),
  ...changes,
});

/** The provider of the honest driver with something replaced. */
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

/** The honest driver whose handlers have something replaced. */
export const handlerWith = (change: (handler: NodeRequestHandler) => Partial<NodeRequestHandler>) =>
  providerWith((provider) => ({
    getRequestHandler: (pool, request) => {
      const handler = provider.getRequestHandler(pool, request);
      return replaceIn(handler, change(handler));
    },
  }));

/** Inherits what is not replaced, called on the original. */
function replaceIn<T extends object>(original: T, changes: Partial<T>): T {
  return new Proxy(original, {
    get(from, key) {
      const value = (key in changes ? Reflect.get(changes, key) : Reflect.get(from, key)) as unknown;
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}

/** The same without a member. */
export function hiding<T extends object>(original: T, hidden: keyof T): T {
  return new Proxy(original, {
    get(from, key) {
      const value: unknown = key === hidden ? undefined : Reflect.get(from, key);
      return typeof value === 'function' ? (value.bind(from) as unknown) : value;
    },
  });
}

/** Reads an entry as the honest driver does. */
export const readEntry = (entry: JsonObject) => ({
  ...readStateMachineProvider(entry, { driverName: 'honest' }),
  managesImages: true,
});

export const PLAN9 = 'config: refuses an image called plan9';

/** A creation that has its own error in place of the one with this code. */
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
