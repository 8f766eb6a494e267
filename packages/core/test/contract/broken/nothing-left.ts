import { goto } from '../../../src/index.js';
import { honestDriver } from '../honest-driver.js';
import {
  CREATION,
  DELETION,
  IN_USE,
  MARKS,
  OTHER_DATABASE,
  differing,
  providerWith,
  type BrokenDriver,
} from './broken-driver.js';

/** Flaws that break the part "nothing left" of the contract. */
export const NOTHING_LEFT: readonly BrokenDriver[] = [
  {
    flaw: 'leaves volumes behind',
    breaks: 'nothing left: leaves nothing in the cloud after use',
    also: [
      CREATION,
      DELETION,
      'nothing left: leaves nothing in the cloud when the requestor goes away',
      'delete: has removed what is behind a node when it says so',
    ],
    make: differing({
      create: {
        start: async (_state, { cloud, order }) => {
          const externalId = await cloud.create(order.metadata, order.az);
          cloud.volumes.add(`v-${externalId}`);
          return goto({ name: 'waiting', externalId });
        },
      },
    }),
  },
  {
    flaw: 'takes everything of its own for leaked',
    breaks: 'nothing left: keeps what is in use, however often it looks for leaks',
    also: [
      IN_USE,
      'nothing left: keeps what another installation made in the same cloud',
      OTHER_DATABASE,
      'shutdown: finishes what is under way when it is stopped in peace',
    ],
    make: providerWith((_provider, cloud) => ({
      cleanupLeakedResources: async () => {
        for (const { id, tags } of await cloud.all()) {
          if (tags['nodepool_provider_name'] === 'test') await cloud.delete(id);
        }
      },
    })),
  },
  {
    flaw: 'takes what others made for its own',
    breaks: 'nothing left: keeps what another installation made in the same cloud',
    also: [OTHER_DATABASE],
    make: (current) => {
      const driver = honestDriver(current);
      return {
        ...driver,
        getProvider: (config, context) =>
          honestDriver(current, {
            adapter: (honest) => ({
              listResources: async (signal) =>
                (await honest.listResources(signal)).map((one) => ({
                  ...one,
                  metadata: {
                    ...one.metadata,
                    nodepool_provider_name: config.name,
                    nodepool_database_id: context.databaseId ?? '',
                  },
                })),
            }),
          }).getProvider(config, context),
      };
    },
  },
  {
    flaw: 'takes what another database made for its own',
    breaks: OTHER_DATABASE,
    make: differing({
      adapter: (honest, _cloud, { databaseId = '' }) => ({
        listResources: async (signal) =>
          (await honest.listResources(signal)).map((one) => ({
            ...one,
            metadata: { ...one.metadata, nodepool_database_id: databaseId },
          })),
      }),
    }),
  },
  {
    flaw: 'makes instances without the tags that it does not know',
    breaks: MARKS,
    also: [CREATION, 'errors: makes no second instance when the answer to a creation is lost'],
    make: differing({
      create: {
        start: async (_state, { cloud, order }) => {
          const { nodepool_database_id: _unknown, ...known } = order.metadata;
          return goto({ name: 'waiting', externalId: await cloud.create(known, order.az) });
        },
      },
    }),
  },
];
