import { goto } from '../../../src/index.js';
import { honestDriver } from '../honest-driver.js';
import { CREATION, DELETION, IN_USE, differing, providerWith, type BrokenDriver } from './broken-driver.js';

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
                  metadata: { ...one.metadata, nodepool_provider_name: config.name },
                })),
            }),
          }).getProvider(config, context),
      };
    },
  },
];
