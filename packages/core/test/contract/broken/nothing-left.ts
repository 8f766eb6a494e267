import { goto } from '../../../src/index.js';
import { honestDriver } from '../honest-driver.js';
import {
  ALL_LISTED,
  CREATION,
  DELETION,
  IN_USE,
  LATE_LISTING,
  LEAKED,
  LOST_REPLY,
  MARKS,
  NOT_TAKEN_OVER,
  OTHER_DATABASE,
  differing,
  hiding,
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
      CREATION,
      'nothing left: keeps what another installation made in the same cloud',
      OTHER_DATABASE,
      LEAKED,
      NOT_TAKEN_OVER,
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
    also: [OTHER_DATABASE, LEAKED, NOT_TAKEN_OVER],
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
    also: [NOT_TAKEN_OVER],
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
    flaw: 'makes instances without tags',
    breaks: LEAKED,
    says: /is deleted as leaked: it must carry the tags of order\.metadata, and listResources must show it with them/,
    also: [CREATION, MARKS, ALL_LISTED, LOST_REPLY, LATE_LISTING],
    make: differing({
      create: {
        start: async (_state, { cloud, order }) =>
          goto({ name: 'waiting', externalId: await cloud.create({}, order.az, order.hostname) }),
      },
    }),
  },
  {
    flaw: 'makes instances without tags, and lists no resources at all',
    breaks: LEAKED,
    says: /is deleted as leaked: it must carry the tags/,
    also: [CREATION, LOST_REPLY, LATE_LISTING],
    make: (current) => {
      const driver = differing({
        create: {
          start: async (_state, { cloud, order }) =>
            goto({ name: 'waiting', externalId: await cloud.create({}, order.az, order.hostname) }),
        },
      })(current);
      return {
        ...driver,
        getProvider: (config, context) => hiding(driver.getProvider(config, context), 'listResources'),
      };
    },
  },
  {
    flaw: 'lists no resources',
    breaks: LEAKED,
    says: /is deleted as leaked: .* listResources must show it/,
    also: [MARKS, ALL_LISTED],
    make: differing({ adapter: () => ({ listResources: () => Promise.resolve([]) }) }),
  },
  {
    flaw: 'deletes every machine when one is leaked',
    breaks: LEAKED,
    says: /deleteResource deletes the resource that it is given, and nothing else/,
    make: differing({
      adapter: (_honest, cloud) => ({
        deleteResource: async () => {
          for (const { id } of await cloud.all()) await cloud.delete(id);
        },
      }),
    }),
  },
  {
    flaw: 'takes over the machine that has the name it wants',
    breaks: NOT_TAKEN_OVER,
    says: /taken over only if it carries all tags of order\.metadata/,
    make: differing({
      create: {
        start: async (_state, { cloud, order }) => {
          const found = (await cloud.all()).find(({ name }) => name === order.hostname);
          const externalId = found?.id ?? (await cloud.create(order.metadata, order.az, order.hostname));
          return goto({ name: 'waiting', externalId });
        },
      },
    }),
  },
  {
    flaw: 'makes instances without the tags that it does not know',
    breaks: MARKS,
    also: [CREATION, LOST_REPLY, LATE_LISTING, LEAKED],
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
