import { done, goto, LaunchError, wait } from '../../../src/index.js';
import { honestDriver, toInstance } from '../honest-driver.js';
import { differing, providerWith, type BrokenDriver, LATE_LISTING, MANY, LOST_REPLY } from './broken-driver.js';

/** Flaws that break the part "create" of the contract. */
export const CREATE: readonly BrokenDriver[] = [
  {
    flaw: 'does not wait until an instance is ready',
    breaks: 'create: makes a node that can be used',
    make: differing({
      create: {
        waiting: async ({ externalId }, { cloud }, run) => {
          const instance = await run.instances.find(externalId);
          if (instance && cloud.machines.get(externalId)?.status === 'broken')
            throw new LaunchError('status', 'broken');
          if (!instance || run.nowMs - run.startedMs < 1_000) return wait(1_000);
          return done({ ...instance, interfaceIp: `${externalId}.fake` });
        },
      },
    }),
    also: [
      'errors: replaces an instance that breaks while it is made',
      'errors: replaces an instance that is not ready in time',
      'errors: waits out a cloud that does not answer for a while',
      LOST_REPLY,
      'errors: tries again when the cloud has no capacity',
      LATE_LISTING,
      MANY,
    ],
  },
  {
    flaw: 'forgets on which port its machines answer',
    breaks: 'create: stores how to reach what it made',
    make: differing({
      adapter: (_honest, cloud) => ({
        listInstances: async () =>
          (await cloud.all()).map((machine) => ({ ...toInstance(machine), connectionPort: undefined })),
      }),
    }),
  },
  {
    flaw: 'stores an id of its own',
    breaks: 'create: stores the external id under which the cloud knows what it made',
    make: differing({
      create: {
        start: async (_state, { cloud, order }) =>
          goto({ name: 'waiting', externalId: `own-${await cloud.create(order.metadata, order.az)}` }),
      },
      remove: {
        start: async ({ externalId }, { cloud }) => {
          await cloud.delete(externalId.replace('own-', ''));
          return goto({ name: 'waiting', externalId });
        },
      },
      adapter: (_honest, cloud) => ({
        listInstances: async () =>
          (await cloud.all()).map((machine) => toInstance({ ...machine, id: `own-${machine.id}` })),
      }),
    }),
    also: ['errors: replaces an instance that breaks while it is made'],
  },
  {
    flaw: 'counts what it made as nothing',
    breaks: 'create: counts what it made against the quota',
    says: /an instance counts as one instance at least/,
    make: differing({
      adapter: (_honest, cloud) => ({
        listInstances: async () =>
          (await cloud.all()).map((machine) => ({ ...toInstance(machine), resources: { instances: 0 } })),
      }),
    }),
  },
  {
    flaw: 'counts no cores of what it made',
    breaks: 'create: counts what it made against the quota',
    says: /needs 2 of cores, and its instance counts as 0: say in resources of the instance/,
    make: differing({
      adapter: (_honest, cloud) => ({
        listInstances: async () =>
          (await cloud.all()).map((machine) => ({ ...toInstance(machine), resources: { instances: 1, cores: 0 } })),
      }),
    }),
  },
  {
    flaw: 'makes one instance for a request of three',
    breaks: 'create: makes as many as are asked for, at once',
    make: (current) => {
      const made = new Map<string, string>();
      return honestDriver(current, {
        create: {
          start: async (_state, { cloud, order: { request, metadata, az, attempt } }) => {
            const key = `${cloud.clock.now()} ${request.id}`;
            if (attempt > 1 || request.labels.length === 1) {
              return goto({ name: 'waiting', externalId: await cloud.create(metadata, az) });
            }
            const shared = made.get(key) ?? `m-${cloud.machines.size + 1}`;
            if (!made.has(key)) {
              made.set(key, shared);
              await cloud.create(metadata, az);
            }
            return goto({ name: 'waiting', externalId: shared });
          },
        },
      });
    },
  },
  {
    flaw: 'cannot make one of its labels',
    breaks: 'create: makes every label it has',
    make: differing({
      adapter: (honest) => ({
        getCreateStateMachine: (order) => {
          if (order.label.name === 'large') throw new LaunchError('status', 'too large for us');
          return honest.getCreateStateMachine(order);
        },
      }),
    }),
  },
  {
    flaw: 'writes into ZooKeeper what does not belong there',
    breaks: 'create: makes a node that can be used',
    make: providerWith((provider, _cloud, { zk }) => ({
      start: async (signal) => {
        await zk.ensurePath('/nodepool/honest');
        await provider.start(signal);
      },
    })),
    spoilsAll: true,
  },
];
