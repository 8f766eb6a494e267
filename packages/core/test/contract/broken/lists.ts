import { toInstance } from '../honest-driver.js';
import type { Adapter } from '../../../src/index.js';
import type { TestCloud } from '../test-cloud.js';
import { ALL_LISTED, LATE_LISTING, MANY, differing, type BrokenDriver } from './broken-driver.js';

/** Looks up single instances, which an honest driver may do. */
const getInstance =
  (cloud: TestCloud): Adapter['getInstance'] =>
  async (externalId) =>
    (await cloud.all()).map(toInstance).find((instance) => instance.externalId === externalId);

/** Flaws that break the part "lists" of the contract. */
export const LISTS: readonly BrokenDriver[] = [
  {
    flaw: 'reads the first page of its list of instances',
    breaks: MANY,
    says: /listInstances must show every instance as it is now, on however many pages/,
    make: differing({
      adapter: (_honest, cloud) => ({
        getInstance: getInstance(cloud),
        listInstances: async () => (await cloud.page(0)).map(toInstance),
      }),
    }),
  },
  {
    flaw: 'reads the first page of its list of resources',
    breaks: ALL_LISTED,
    says: /listResources shows 5 of 6 instances .* read all pages of the list/,
    make: differing({
      adapter: (_honest, cloud) => ({
        listResources: async () =>
          (await cloud.page(0)).map(({ id, tags }) => ({ type: 'instance', id, metadata: tags })),
      }),
    }),
  },
  {
    flaw: 'can look up single instances, and not list them',
    breaks: MANY,
    says: /getInstance is not asked: listInstances must show every instance/,
    also: [
      ALL_LISTED,
      LATE_LISTING,
      'errors: waits out a cloud that does not answer for a while',
      'quota: knows the limits of the cloud',
    ],
    make: differing({
      adapter: (_honest, cloud) => ({
        getInstance: getInstance(cloud),
        getQuotaLimits: undefined,
        listInstances: () => Promise.reject(new TypeError('items is not iterable')),
      }),
    }),
  },
  {
    flaw: 'lists instances as they were at the first look',
    breaks: MANY,
    says: /listInstances must show every instance as it is now/,
    also: [LATE_LISTING, 'errors: waits out a cloud that does not answer for a while'],
    make: differing({
      adapter: (honest, cloud) => {
        let frozen: ReturnType<Adapter['listInstances']> | undefined;
        return {
          getInstance: getInstance(cloud),
          listInstances: (signal) => (frozen ??= honest.listInstances(signal)),
        };
      },
    }),
  },
];
