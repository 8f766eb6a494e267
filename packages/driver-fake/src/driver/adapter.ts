import type { Resources } from '@nodepool/zk-protocol';
import { ConfigError, isOurs, PROVIDER_TAG } from '@nodepool/core';
import type {
  Adapter,
  AdapterContext,
  CreateOrder,
  DeleteOrder,
  ImageUpload,
  Instance,
  InstanceChange,
  ProviderImage,
  Resource,
  StateMachine,
} from '@nodepool/core';
import type { CloudClient, CloudInstance, InstanceOrder } from '../cloud/index.js';
import { callsOf, pacedCallsOf, type CloudCall, type PacedCall } from './cloud-call.js';
import type { FakeLabelConfig, FakePoolConfig, FakeProviderConfig } from './config.js';
import { createMachine, type CreateState } from './create-node.js';
import { deleteMachine } from './delete-node.js';
import { toInstance, type FakeInstance } from './instance.js';
import { stopMachine } from './stop-node.js';
import { uploadImage } from './upload-image.js';

/** Adapter of the fake cloud for core's state-machine provider. */
export class FakeAdapter implements Adapter<FakeInstance, FakeLabelConfig, FakePoolConfig> {
  readonly #config: FakeProviderConfig;
  readonly #client: CloudClient;
  readonly #call: CloudCall;
  readonly #paced: PacedCall;
  readonly #context: Pick<AdapterContext, 'tasks' | 'databaseId'>;

  constructor(config: FakeProviderConfig, client: CloudClient, context: Pick<AdapterContext, 'tasks' | 'databaseId'>) {
    this.#config = config;
    this.#context = context;
    this.#client = client;
    this.#call = callsOf(client);
    this.#paced = pacedCallsOf(this.#call, context.tasks);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#client.start(signal);
    await this.#call('configure', { owner: this.#config.name, settings: this.#config.cloudSettings }, signal);
  }

  stop(): void {
    this.#client.close();
  }

  getCreateStateMachine(order: CreateOrder<FakeLabelConfig, FakePoolConfig>): StateMachine<Instance, FakeInstance> {
    return createMachine({
      call: this.#paced,
      attempt: order.attempt,
      resumed: order.resumed,
      order: this.#instanceOrder(order),
      isOfNode: ({ metadata }) => isOurs(metadata, this.#config.name, this.#context.databaseId, order.node),
      toInstance: (shown) => this.#toInstance(shown),
    });
  }

  getDeleteStateMachine({ externalId }: DeleteOrder): StateMachine<void, FakeInstance> {
    return deleteMachine(externalId, this.#paced);
  }

  getStopStateMachine({ externalId }: DeleteOrder): StateMachine<CreateState, FakeInstance> {
    return stopMachine(externalId, this.#paced);
  }

  async listInstances(signal: AbortSignal): Promise<readonly FakeInstance[]> {
    return (await this.#call('find', null, signal)).map((shown) => this.#toInstance(shown));
  }

  async getInstance(externalId: string, signal: AbortSignal): Promise<FakeInstance | undefined> {
    const shown = await this.#call('get', externalId, signal);
    return shown ? this.#toInstance(shown) : undefined;
  }

  onInstanceChange(listener: (change: InstanceChange<FakeInstance>) => void): () => void {
    return this.#client.onChange(({ id, instance }) =>
      listener({ externalId: id, instance: instance && this.#toInstance(instance) }),
    );
  }

  async listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    const [instances, images] = await Promise.all([
      this.#call('find', null, signal),
      this.#call('listImages', null, signal),
    ]);
    return [
      ...instances.map(({ id, name, metadata, createdMs }) => ({
        ...{ type: 'instance', id, name, metadata, createdMs },
      })),
      ...images.map(({ id, name, metadata }) => ({ type: 'image', id, name, metadata })),
    ];
  }

  async deleteResource({ type, id }: Resource, signal: AbortSignal): Promise<void> {
    await this.#call(type === 'image' ? 'removeImage' : 'remove', id, signal);
  }

  async tagResource({ id }: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    await this.#paced('compute.POST.metadata', 'tag', { id, tags }, signal);
  }

  async getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const limits = await this.#call('limits', null, signal);
    return Object.fromEntries(
      Object.entries(limits).filter((one): one is [string, number] => typeof one[1] === 'number'),
    );
  }

  async getQuotaForLabel(label: FakeLabelConfig, pool: FakePoolConfig, signal: AbortSignal): Promise<Resources> {
    const wanted = { flavor: label.flavorName, minRam: label.minRam };
    const flavor = await this.#call('flavor', wanted, signal);
    if (flavor) return { instances: 1, cores: flavor.cores, ram: flavor.ram };
    throw new ConfigError(
      `provider "${this.#config.name}": no flavor of the cloud fits label "${label.name}" of pool "${pool.name}" ` +
        `(${JSON.stringify(wanted)}): correct the label, or "flavors" of "cloud-settings"`,
    );
  }

  async getAZs(signal: AbortSignal): Promise<readonly (string | null)[]> {
    const zones = await this.#call('zones', null, signal);
    return zones.length > 0 ? zones : [null];
  }

  labelReady(label: FakeLabelConfig, _pool: FakePoolConfig, signal: AbortSignal): boolean | Promise<boolean> {
    if (label.diskimage !== undefined) return true;
    const image = this.#config.cloudImages.get(label.cloudImage ?? '');
    if (!image) return false;
    return image.imageId !== undefined || this.#call('hasImage', image.imageName, signal);
  }

  uploadImage(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    return uploadImage(this.#call, upload, signal);
  }

  async listImages(signal: AbortSignal, options: { all?: boolean | undefined } = {}): Promise<ProviderImage[]> {
    const images = await this.#call('listImages', null, signal);
    const shown =
      options.all === true ? images : images.filter((one) => one.metadata[PROVIDER_TAG] === this.#config.name);
    return shown.map(({ id, name, metadata, partial }) => ({
      externalId: id,
      name,
      ready: partial !== true,
      metadata,
    }));
  }

  async deleteImage(externalId: string, signal: AbortSignal): Promise<void> {
    await this.#call('removeImage', externalId, signal);
  }

  async getConsoleLog(_label: FakeLabelConfig, externalId: string, signal: AbortSignal): Promise<string | undefined> {
    const shown = await this.#call('get', externalId, signal);
    return shown ? `fake cloud: instance ${shown.name} (${shown.id}) is ${shown.status}` : undefined;
  }

  #instanceOrder(order: CreateOrder<FakeLabelConfig, FakePoolConfig>): InstanceOrder {
    const { label, hostname, az, metadata } = order;
    const image = this.#config.cloudImages.get(label.cloudImage ?? '');
    const imageName = label.diskimage ?? label.cloudImage ?? '';
    return {
      name: hostname,
      flavor: label.flavorName,
      minRam: label.minRam,
      image: order.imageExternalId ?? image?.imageId ?? image?.imageName ?? imageName,
      az,
      metadata: {
        groups: [this.#config.name, imageName, label.name].join(','),
        ...label.instanceProperties,
        ...metadata,
      },
    };
  }

  #toInstance(shown: CloudInstance): FakeInstance {
    return toInstance(shown, this.#config.cloud, this.#config.region);
  }
}
