import { isNodepoolError, type JsonObject } from '@nodepool/zk-protocol';
import {
  createStateMachine,
  done,
  failed,
  goto,
  LaunchError,
  defineStateMachineDriver,
  readStateMachineProvider,
  STATE_MACHINE_SCHEMAS,
  wait,
  type Adapter,
  type AdapterContext,
  type CreateOrder,
  type DeleteOrder,
  type Driver,
  type Handlers,
  type ImageUpload,
  type Instance,
  type ProviderImage,
  type StateMachine,
  type StateMachineProviderConfig,
} from '../../src/index.js';
import type { StateMachineDriverOptions } from '../../src/cloud/state-machine/types.js';
import { LIST_LAG_MS, LOGIN, type Machine, type TestCloud } from './test-cloud.js';

const object = (properties: JsonObject, required: string[]) => ({ type: 'object', properties, required });
const list = (items: JsonObject) => ({ type: 'array', items });

const schema = {
  type: 'object',
  required: ['pools'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    'cloud-images': list(object(STATE_MACHINE_SCHEMAS.cloudImage, ['name'])),
    pools: list(
      object({ ...STATE_MACHINE_SCHEMAS.pool, labels: list(object(STATE_MACHINE_SCHEMAS.label, ['name'])) }, ['name']),
    ),
  },
};

export const validConfig: JsonObject = {
  name: 'test',
  driver: 'honest',
  'launch-timeout': 600,
  'cloud-images': [{ name: 'debian' }],
  pools: [
    {
      name: 'main',
      'host-key-checking': false,
      'availability-zones': ['a', 'b'],
      labels: [
        { name: 'small', 'cloud-image': 'debian' },
        { name: 'large', 'cloud-image': 'debian' },
      ],
    },
  ],
};

export const invalidConfigs = {
  'an entry without pools': { name: 'test', driver: 'honest' },
  'an image called plan9': { ...validConfig, 'cloud-images': [{ name: 'debian' }, { name: 'plan9' }] },
};

/** Creates adapter methods that replace those of the honest driver. */
export type AdapterChanges = (honest: Adapter, cloud: TestCloud, context: AdapterContext) => Partial<Adapter>;

/** Differences between a broken driver and the honest one. */
export interface Differences {
  readonly adapter?: AdapterChanges;
  readonly create?: Partial<CreateHandlers>;
  readonly remove?: Partial<DeleteHandlers>;
  readonly stop?: Partial<StopHandlers>;
  readonly driver?: Partial<StateMachineDriverOptions<StateMachineProviderConfig>>;
}

/** A driver that fulfills the whole contract, except for the differences. */
export function honestDriver(current: () => TestCloud, differences: Differences = {}): Driver {
  const name = differences.driver?.name ?? 'honest';
  const { create = {}, remove = {}, stop = {}, adapter: change = () => ({}) } = differences;
  return defineStateMachineDriver<StateMachineProviderConfig>({
    name,
    schema,
    managesImages: true,
    resumes: true,
    stops: true,
    getProviderConfig: (entry, context) => {
      const config = readStateMachineProvider(entry, { driverName: name });
      if (config.cloudImages.has('plan9')) context.problem(['cloud-images'], 'plan9 is not for here, use debian');
      return { ...config, managesImages: true };
    },
    getAdapter: (_config, context) => {
      const cloud = current();
      const machines = {
        ...{ create: { ...createHandlers, ...create }, remove: { ...deleteHandlers, ...remove } },
        stop: { ...stopHandlers, ...stop },
      };
      const honest = honestAdapter(cloud, machines);
      return { ...honest, ...change(honest, cloud, context) };
    },
    ...differences.driver,
  });
}

type CreateState =
  | { name: 'start' }
  | { name: 'continuing' }
  | { name: 'submitting' }
  | { name: 'looking' }
  | { name: 'starting'; externalId: string }
  | { name: 'waiting'; externalId: string };
type StopState = { name: 'start'; externalId: string } | { name: 'waiting'; externalId: string };
type DeleteState = { name: 'start'; externalId: string } | { name: 'waiting'; externalId: string };
export interface Work<Order> {
  readonly cloud: TestCloud;
  readonly order: Order;
}
type CreateHandlers = Handlers<CreateState, Instance, Work<CreateOrder>>;
type StopHandlers = Handlers<StopState, CreateState, Work<DeleteOrder>>;
type DeleteHandlers = Handlers<DeleteState, void, Work<DeleteOrder>>;

const findOwn = async ({ cloud, order }: Work<CreateOrder>): Promise<Machine | undefined> =>
  (await cloud.all()).find(({ tags }) => Object.entries(order.metadata).every(([key, value]) => tags[key] === value));

const createHandlers: CreateHandlers = {
  start: (_state, { order }) => goto({ name: order.resumed ? 'continuing' : 'submitting' }),
  continuing: async (_state, work) => {
    const found = await findOwn(work);
    return found ? goto({ name: 'waiting', externalId: found.id }) : goto({ name: 'submitting' });
  },
  submitting: async (_state, { cloud, order }) => {
    try {
      return goto({ name: 'waiting', externalId: await cloud.create(order.metadata, order.az, order.hostname) });
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) return goto({ name: 'looking' });
      throw error;
    }
  },
  looking: async (_state, work) => {
    const found = await findOwn(work);
    if (found) return goto({ name: 'waiting', externalId: found.id });
    return failed(new LaunchError('network', 'the cloud did not answer'));
  },
  starting: async ({ externalId }, { cloud }) => {
    await cloud.startMachine(externalId);
    return goto({ name: 'waiting', externalId });
  },
  waiting: async ({ externalId }, { cloud }, run) => {
    const instance = await run.instances.find(externalId);
    if (cloud.machines.get(externalId)?.status === 'broken') return failed(new LaunchError('status', 'it is broken'));
    if (!instance) return failed(new LaunchError('status', 'it vanished'));
    return instance.ready ? done(instance) : wait();
  },
};

const stopHandlers: StopHandlers = {
  start: async ({ externalId }, { cloud }) => {
    await cloud.stopMachine(externalId);
    return goto({ name: 'waiting', externalId });
  },
  waiting: ({ externalId }, { cloud }) =>
    cloud.machines.get(externalId)?.status === 'stopped' ? done({ name: 'starting', externalId }) : wait(500),
};

const deleteHandlers: DeleteHandlers = {
  start: async ({ externalId }, { cloud }) => {
    await cloud.delete(externalId);
    return goto({ name: 'waiting', externalId });
  },
  waiting: async ({ externalId }, _work, run) => ((await run.instances.find(externalId)) ? wait() : done()),
};

export function toInstance({ id, status, tags, az }: Machine): Instance {
  const ready = status === 'running';
  const interfaceIp = ready ? `${id}.fake` : null;
  const resources = { instances: 1, cores: 2 };
  const unusable = ready || status === 'making' ? undefined : `the cloud shows it as ${status}`;
  return { externalId: id, ready, deleted: false, unusable, interfaceIp, metadata: tags, az, resources, ...LOGIN };
}

function stopMachine(context: Work<DeleteOrder>, handlers: StopHandlers): StateMachine<CreateState> {
  const initial: StopState = { name: 'start', externalId: context.order.externalId };
  return createStateMachine<StopState, CreateState, Work<DeleteOrder>>({ name: 'stop', initial, handlers, context });
}

interface Machines {
  readonly create: CreateHandlers;
  readonly remove: DeleteHandlers;
  readonly stop: StopHandlers;
}

async function uploadImage(cloud: TestCloud, { name, metadata, onCreated, onProgress }: ImageUpload): Promise<string> {
  const id = await cloud.upload(name, metadata);
  await onCreated?.(id);
  onProgress?.(1, 1);
  await cloud.complete(id);
  return id;
}

const listImages = ({ images, partialImages }: TestCloud): ProviderImage[] =>
  Array.from(images, ([name, metadata]) => ({ externalId: name, name, ready: !partialImages.has(name), metadata }));

function honestAdapter(cloud: TestCloud, { create, remove, stop }: Machines): Adapter {
  return {
    getCreateStateMachine: (order): StateMachine<Instance> =>
      createStateMachine<CreateState, Instance, Work<CreateOrder>>({
        ...{ name: 'create', initial: { name: 'start' }, resumed: order.resumed?.state },
        handlers: create,
        context: { cloud, order },
      }),
    getDeleteStateMachine: (order): StateMachine<void> => {
      const initial: DeleteState = { name: 'start', externalId: order.externalId };
      return createStateMachine<DeleteState, void, Work<DeleteOrder>>({
        name: 'delete',
        initial,
        handlers: remove,
        context: { cloud, order },
      });
    },
    getStopStateMachine: (order) => stopMachine({ cloud, order }, stop),
    listLagMs: LIST_LAG_MS,
    listInstances: async () => (await cloud.all()).map(toInstance),
    listResources: async () => [
      ...(await cloud.all()).map(({ id, tags }) => ({ type: 'instance', id, metadata: tags })),
      ...[...cloud.volumes].map((id) => ({ type: 'volume', id, metadata: {} })),
    ],
    deleteResource: ({ id }) => cloud.delete(id),
    getQuotaLimits: () => Promise.resolve(cloud.limits),
    getQuotaForLabel: () => Promise.resolve({ instances: 1, cores: 2 }),
    uploadImage: (upload) => uploadImage(cloud, upload),
    listImages: () => Promise.resolve(listImages(cloud)),
    deleteImage: async (name) => {
      await cloud.deleteImage(name).catch((error: unknown) => {
        if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
      });
    },
  };
}
