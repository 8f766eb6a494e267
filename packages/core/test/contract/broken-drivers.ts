import type { JsonObject } from '@nodepool/zk-protocol';
import {
  CapacityError,
  ConfigError,
  done,
  goto,
  LaunchError,
  readStateMachineProvider,
  wait,
  type Driver,
  type NodeRequestHandler,
  type Provider,
} from '../../src/index.js';
import { honestDriver, toInstance, type Differences } from './honest-driver.js';
import type { TestCloud } from './test-cloud.js';

/** A driver that breaks one rule. */
export interface BrokenDriver {
  /** How it is broken. */
  readonly flaw: string;
  /** The test that must fail, as `part: name`. */
  readonly breaks: string;
  /** Further tests that cannot but fail with it. */
  readonly also?: readonly string[];
  /** Whatever launches something fails as well. */
  readonly launchesNothing?: boolean;
  /** Nothing works with it. */
  readonly spoilsAll?: boolean;
  readonly packageFile?: JsonObject;
  /** What configurations call it. Default: `honest`. */
  readonly driverName?: string;
  readonly make: (current: () => TestCloud) => Driver;
}

const CREATION = 'restart: loses nothing of a creation, at whatever moment the launcher dies';
const DELETION = 'restart: continues a deletion, at whatever moment the launcher dies';
const IN_USE = 'restart: keeps what is in use when a new launcher takes over';
const QUOTA = 'errors: aborts a launch without counting an attempt when the quota is used up';
const CAPACITY = 'errors: reports a cloud without room as a lack of capacity';

const differing = (differences: Differences) => (current: () => TestCloud) => honestDriver(current, differences);
const driverWith = (changes: Partial<Driver>) => (current: () => TestCloud) => ({
  ...honestDriver(current),
  ...changes,
});

/** The provider of the honest driver with something replaced. */
const providerWith =
  (change: (provider: Provider, cloud: TestCloud) => Partial<Provider>) =>
  (current: () => TestCloud): Driver => {
    const driver = honestDriver(current);
    return {
      ...driver,
      getProvider: (config, context) => {
        const provider = driver.getProvider(config, context);
        return replaceIn(provider, change(provider, current()));
      },
    };
  };

const handlerWith = (change: (handler: NodeRequestHandler) => Partial<NodeRequestHandler>) =>
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

const readEntry = (entry: JsonObject) => ({
  ...readStateMachineProvider(entry, { driverName: 'honest' }),
  managesImages: true,
});

const PLAN9 = 'config: refuses an image called plan9';

export const BROKEN: readonly BrokenDriver[] = [
  // --- loading
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
    breaks: 'loading: drops global state whenever it is told to',
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
  // --- config
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
    breaks: 'config: reports keys that nobody knows, wherever they stand',
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
  // --- create
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
      'errors: makes no second instance when the answer to a creation is lost',
      'errors: tries again when the cloud has no room',
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
  // --- delete
  {
    flaw: 'does not wait until a deletion is over',
    breaks: 'delete: has removed what is behind a node when it says so',
    also: ['delete: deletes in the end although the cloud does not answer at first'],
    make: differing({
      remove: {
        waiting: async ({ externalId }, { order }, run) => {
          // of what a failed attempt left it is careful
          if (order.node?.state === 'deleting') return done();
          return (await run.instances.find(externalId)) ? wait() : done();
        },
      },
    }),
  },
  {
    flaw: 'takes it for an error that there is nothing to delete',
    breaks: 'delete: takes it for done when there is nothing left to delete',
    also: [DELETION],
    make: differing({
      remove: {
        start: async ({ externalId }, { cloud }) => {
          await cloud.delete(externalId).catch((error: unknown) => {
            throw new Error('deleting failed', { cause: error });
          });
          return goto({ name: 'waiting', externalId });
        },
      },
    }),
  },
  {
    flaw: 'takes an unanswered deletion for done',
    breaks: 'delete: deletes in the end although the cloud does not answer at first',
    make: differing({
      remove: {
        start: async ({ externalId }, { cloud }) => {
          const isTaken = await cloud.delete(externalId).then(
            () => true,
            () => false,
          );
          return isTaken ? goto({ name: 'waiting', externalId }) : done();
        },
      },
    }),
  },
  {
    flaw: 'deletes something else when a node has nothing',
    breaks: 'delete: knows nothing to delete behind a node that was never made',
    make: providerWith((provider, cloud) => ({
      startNodeCleanup: (node, signal) => {
        const externalId = node.externalId ?? [...cloud.machines.keys()][0] ?? null;
        return provider.startNodeCleanup({ ...node, externalId }, signal);
      },
    })),
  },
  // --- errors
  {
    flaw: 'takes a used-up quota for a lack of room',
    breaks: QUOTA,
    make: differing({ create: { start: translate('NODEPOOL_QUOTA', () => new CapacityError('no room')) } }),
  },
  {
    flaw: 'has one error for everything',
    breaks: CAPACITY,
    make: differing({ create: { start: translate('NODEPOOL_CAPACITY', () => new LaunchError('status', 'failed')) } }),
  },
  {
    flaw: 'rejects instead of resolving as failed',
    breaks: CAPACITY,
    also: ['shutdown: ends a launch soon after it is aborted'],
    make: handlerWith((handler) => ({
      launch: async (order, signal) => {
        const result = await handler.launch?.(order, signal);
        if (!result || result.state === 'failed') throw new Error('the launch failed');
        return result;
      },
    })),
  },
  {
    flaw: 'gives up when there is no room',
    breaks: 'errors: tries again when the cloud has no room',
    also: [CAPACITY],
    make: differing({ create: { start: translate('NODEPOOL_CAPACITY', () => new ConfigError('hopeless')) } }),
  },
  {
    flaw: 'gives up when the cloud does not answer',
    breaks: 'errors: waits out a cloud that does not answer for a while',
    also: ['errors: makes no second instance when the answer to a creation is lost'],
    make: differing({
      create: { start: translate('NODEPOOL_PROVIDER_UNAVAILABLE', () => new ConfigError('hopeless')) },
    }),
  },
  {
    flaw: 'takes a broken instance for a ready one',
    breaks: 'errors: replaces an instance that breaks while it is made',
    make: differing({
      create: {
        waiting: async ({ externalId }, { cloud }, run) => {
          const instance = await run.instances.find(externalId);
          const isBroken = cloud.machines.get(externalId)?.status === 'broken';
          return instance && (instance.ready || isBroken) ? done({ ...instance, interfaceIp: 'x.fake' }) : wait();
        },
      },
    }),
  },
  {
    flaw: 'takes an instance for ready after a minute',
    breaks: 'errors: replaces an instance that is not ready in time',
    make: differing({
      create: {
        waiting: async ({ externalId }, { cloud }, run) => {
          const instance = await run.instances.find(externalId);
          if (cloud.machines.get(externalId)?.status === 'broken') throw new LaunchError('status', 'broken');
          const isLate = run.nowMs - run.startedMs > 60_000;
          return instance && (instance.ready || isLate) ? done({ ...instance, interfaceIp: 'x.fake' }) : wait(1_000);
        },
      },
    }),
  },
  {
    flaw: 'is sure that nothing was made when the answer is lost',
    breaks: 'errors: makes no second instance when the answer to a creation is lost',
    make: differing({
      create: { start: translate('NODEPOOL_PROVIDER_UNAVAILABLE', () => new CapacityError('nothing made')) },
    }),
    also: ['errors: waits out a cloud that does not answer for a while'],
  },
  // --- quota
  {
    flaw: 'needs nothing',
    breaks: 'quota: says what a node of each label needs',
    make: differing({ adapter: () => ({ getQuotaForLabel: () => Promise.resolve({ cores: 1 }) }) }),
  },
  {
    flaw: 'needs less than nothing',
    breaks: 'quota: says what a node of each label needs',
    make: differing({ adapter: () => ({ getQuotaForLabel: () => Promise.resolve({ instances: 1, cores: -2 }) }) }),
  },
  {
    flaw: 'writes -1 for no limit',
    breaks: 'quota: knows its limits soon after it has started',
    also: ['quota: reads its limits again when they proved wrong'],
    launchesNothing: true, // less than nothing is left of a resource
    make: providerWith(({ quota }) => ({
      quota: quota && {
        quotaNeededByLabel: (label, pool) => quota.quotaNeededByLabel(label, pool),
        invalidateQuotaCache: () => quota.invalidateQuotaCache(),
        estimatedNodepoolQuota: () => quota.estimatedNodepoolQuota() && { instances: 10, volumes: -1 },
      },
    })),
  },
  {
    flaw: 'takes twenty minutes to know its limits',
    breaks: 'quota: knows its limits soon after it has started',
    also: [
      'quota: reads its limits again when they proved wrong',
      'quota: calls no label unusable that it can make',
      'shutdown: finishes what is under way when it is stopped in peace',
    ],
    make: providerWith((provider, cloud) => {
      const madeMs = cloud.clock.now();
      const estimatedNodepoolQuota = () => (cloud.clock.now() - madeMs < 1_200_000 ? undefined : { instances: 10 });
      return {
        quota: {
          quotaNeededByLabel: () => ({ instances: 1 }),
          invalidateQuotaCache: () => provider.quota?.invalidateQuotaCache(),
          estimatedNodepoolQuota,
        },
      };
    }),
  },
  {
    flaw: 'forgets its limits for good',
    breaks: 'quota: reads its limits again when they proved wrong',
    also: [QUOTA],
    make: providerWith(() => {
      let limits: Record<string, number> | undefined = { instances: 10 };
      return {
        quota: {
          quotaNeededByLabel: () => ({ instances: 1 }),
          invalidateQuotaCache: () => (limits = undefined),
          estimatedNodepoolQuota: () => limits,
        },
      };
    }),
  },
  {
    flaw: 'calls a label unusable for no reason',
    breaks: 'quota: calls no label unusable that it can make',
    also: ['create: makes every label it has'],
    make: providerWith(() => ({ errorLabels: () => new Set(['large']) })),
  },
  // --- restart
  {
    flaw: 'loses the tags of what may be leaked',
    breaks: CREATION,
    make: differing({
      adapter: (honest) => ({
        listResources: async (signal) => (await honest.listResources(signal)).map((one) => ({ ...one, metadata: {} })),
      }),
    }),
  },
  {
    flaw: 'deletes only what it remembers to have made',
    breaks: DELETION,
    also: [CREATION, 'errors: makes no second instance when the answer to a creation is lost'],
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
    flaw: 'tidies up when it starts',
    breaks: IN_USE,
    also: ['nothing left: keeps what another installation made in the same cloud'],
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
  // --- nothing left
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
  // --- reuse
  {
    flaw: 'wants no node that exists',
    breaks: 'reuse: hands out a node that was made and not used',
    make: handlerWith(() => ({ checkReusableNode: () => false })),
  },
  {
    flaw: 'accepts no node that exists',
    breaks: 'reuse: hands out a node that was made and not used',
    make: handlerWith(() => ({ acceptsNode: () => false })),
  },
  {
    flaw: 'has no images for any request',
    breaks: 'create: makes a node that can be used',
    make: handlerWith(() => ({ imagesAvailable: () => false })),
    spoilsAll: true,
  },
  {
    flaw: 'spreads a request over zones',
    breaks: 'reuse: keeps the nodes of a request in one zone',
    make: (current) => {
      let count = 0;
      return handlerWith((handler) => ({
        setNodeMetadata: (node) => ({ ...(handler.setNodeMetadata?.(node) ?? node), az: count++ % 2 ? 'a' : 'b' }),
      }))(current);
    },
  },
  {
    flaw: 'has no answer for other zones',
    breaks: 'reuse: judges nodes of other zones without failing',
    make: handlerWith(() => ({
      acceptsNode: ({ az }) => {
        if (az !== 'a' && az !== 'b') throw new Error(`what zone is ${String(az)}?`);
        return true;
      },
    })),
  },
  {
    flaw: 'makes another record of a new one',
    breaks: 'reuse: completes new records without changing what they are',
    make: handlerWith((handler) => ({
      setNodeMetadata: (node) => ({ ...(handler.setNodeMetadata?.(node) ?? node), labels: [...node.labels, 'extra'] }),
    })),
  },
  // --- images
  {
    flaw: 'promises an answer about images',
    breaks: 'images: says at once whether the images of its labels exist',
    spoilsAll: true, // what is no answer counts as "no"
    make: providerWith(() => ({ labelReady: () => Promise.resolve(true) as unknown as boolean })),
  },
  {
    flaw: 'manages images without saying so',
    breaks: 'images: manages images only if it says that it can',
    make: driverWith({ capabilities: { launches: true, pausesAtQuota: true, managesImages: false } }),
  },
  {
    flaw: 'takes it for an error that an image is gone',
    breaks: 'images: uploads an image, deletes it, and takes deleting twice for granted',
    make: differing({ adapter: (_honest, cloud) => ({ deleteImage: (name) => cloud.deleteImage(name) }) }),
  },
  {
    flaw: 'keeps the id of an image to itself until it is uploaded',
    breaks: 'images: uploads an image, deletes it, and takes deleting twice for granted',
    make: differing({
      adapter: (_honest, cloud) => ({ uploadImage: ({ name, metadata }) => cloud.upload(name, metadata) }),
    }),
  },
  // --- shutdown
  {
    flaw: 'continues to look at the cloud after it was stopped',
    breaks: 'shutdown: stops without blocking, and leaves no timer behind',
    also: [
      'shutdown: gives up its start when that is aborted',
      'shutdown: ends a launch soon after it is aborted',
      'shutdown: finishes what is under way when it is stopped in peace',
    ],
    make: differing({
      adapter: (_honest, cloud, { clock }) => ({
        start: async () => {
          const look = () => void clock.setTimer(30_000, () => void cloud.all().then(look, look));
          look();
          await Promise.resolve();
        },
      }),
    }),
  },
  {
    flaw: 'cannot be stopped twice',
    breaks: 'shutdown: may be stopped twice',
    make: providerWith((provider) => {
      let isStopped = false;
      return {
        stop: () => {
          if (isStopped) throw new Error('stopped already');
          isStopped = true;
          provider.stop();
        },
      };
    }),
  },
  {
    flaw: 'starts although its start is aborted',
    breaks: 'shutdown: gives up its start when that is aborted',
    make: differing({
      adapter: () => ({ start: (signal) => (signal.aborted ? new Promise(() => {}) : Promise.resolve()) }),
    }),
  },
  {
    flaw: 'does not hear that a launch is aborted',
    breaks: 'shutdown: ends a launch soon after it is aborted',
    make: handlerWith((handler) => ({
      launch: (order) =>
        handler.launch?.(order, new AbortController().signal) ?? Promise.reject(new Error('no launch')),
    })),
  },
];

/** A first step that reports one kind of failure as another. */
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
