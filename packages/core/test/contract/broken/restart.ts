import { goto, wait } from '../../../src/index.js';
import { honestDriver } from '../honest-driver.js';
import {
  CREATION,
  DELETION,
  IN_USE,
  differing,
  type BrokenDriver,
  MARKS,
  OTHER_DATABASE,
  LEAKED,
  ALL_LISTED,
  LATE_LISTING,
  NOT_TAKEN_OVER,
  LOST_REPLY,
} from './broken-driver.js';

/** Flaws that break the part "restart" of the contract. */
export const RESTART: readonly BrokenDriver[] = [
  {
    flaw: 'loses the tags of what may be leaked',
    breaks: CREATION,
    also: [MARKS, LEAKED, ALL_LISTED],
    make: differing({
      driver: { resumes: false },
      adapter: (honest) => ({
        listResources: async (signal) => (await honest.listResources(signal)).map((one) => ({ ...one, metadata: {} })),
      }),
    }),
  },
  {
    flaw: 'deletes only what it remembers to have made',
    breaks: DELETION,
    also: [CREATION, MARKS, LOST_REPLY, LATE_LISTING, LEAKED, ALL_LISTED],
    make: (current) => {
      const driver = honestDriver(current);
      return {
        ...driver,
        getProvider: (config, context) => {
          const made = new Set<string>();
          return honestDriver(current, {
            create: {
              start: async (_state, { cloud, order }) => {
                const externalId = await cloud.create(order.metadata, order.az);
                made.add(externalId);
                return goto({ name: 'waiting', externalId });
              },
            },
            remove: {
              start: async ({ externalId }, { cloud }) => {
                if (!made.has(externalId) && cloud.machines.has(externalId)) return wait(60_000);
                await cloud.delete(externalId);
                return goto({ name: 'waiting', externalId });
              },
            },
            adapter: () => ({ listResources: () => Promise.resolve([]) }),
          }).getProvider(config, context);
        },
      };
    },
  },
  {
    flaw: 'declares that it resumes launches, and begins them again',
    breaks: CREATION,
    says: /one instance/,
    make: differing({ create: { continuing: () => goto({ name: 'submitting' }) } }),
  },
  {
    flaw: 'tidies up when it starts',
    breaks: IN_USE,
    also: [
      CREATION,
      'nothing left: keeps what another installation made in the same cloud',
      OTHER_DATABASE,
      NOT_TAKEN_OVER,
    ],
    make: differing({
      adapter: (_honest, cloud) => ({
        start: async () => {
          for (const { id, tags } of await cloud.all()) {
            if (tags['nodepool_provider_name'] === 'test') await cloud.delete(id);
          }
        },
      }),
    }),
  },
];
