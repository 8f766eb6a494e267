import type { Resources } from '@nodepool/zk-protocol';
import { ConfigError, PROVIDER_TAG } from '@nodepool/core';
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
import type { FakeLabelConfig, FakePoolConfig, FakeProviderConfig } from './config.js';
import { createMachine } from './create-node.js';
import { deleteMachine } from './delete-node.js';
import { toInstance, type FakeInstance } from './instance.js';
import type { PacedCall } from './paced-call.js';
import { uploadImage } from './upload-image.js';

/** The fake cloud as core's state-machine provider sees it. */
export class FakeAdapter implements Adapter<FakeInstance, FakeLabelConfig, FakePoolConfig> {
  readonly #config: FakeProviderConfig;
  readonly #client: CloudClient;
  readonly #call: PacedCall;
  /** Translations, as long as the cloud shows the same. */
  readonly #translated = new WeakMap<CloudInstance, FakeInstance>();

  constructor(config: FakeProviderConfig, client: CloudClient, context: Pick<AdapterContext, 'tasks'>) {
    this.#config = config;
    this.#client = client;
    this.#call = (name, fn, signal) => context.tasks.call(name, fn, { signal });
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#client.start(signal);
    await this.#client.configure(this.#config.name, this.#config.cloudSettings, signal);
  }

  stop(): void | Promise<void> {
    return this.#client.close();
  }

  getCreateStateMachine(order: CreateOrder<FakeLabelConfig, FakePoolConfig>): StateMachine<Instance, FakeInstance> {
    return createMachine({
      client: this.#client,
      call: this.#call,
      attempt: order.attempt,
      order: this.#instanceOrder(order),
      toInstance: (shown) => this.#toInstance(shown),
    });
  }

  getDeleteStateMachine({ externalId }: DeleteOrder): StateMachine<void, FakeInstance> {
    return deleteMachine(externalId, { client: this.#client, call: this.#call });
  }

  async listInstances(signal: AbortSignal): Promise<readonly FakeInstance[]> {
    return Array.from(await this.#client.list(signal), (shown) => this.#toInstance(shown));
  }

  async getInstance(externalId: string, signal: AbortSignal): Promise<FakeInstance | undefined> {
    const shown = await this.#client.get(externalId, signal);
    return shown && this.#toInstance(shown);
  }

  onInstanceChange(listener: (change: InstanceChange<FakeInstance>) => void): () => void {
    return this.#client.onChange(({ id, instance }) =>
      listener({ externalId: id, instance: instance && this.#toInstance(instance) }),
    );
  }

  async listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    const [instances, images] = await Promise.all([this.#client.list(signal), this.#client.listImages(signal)]);
    return [
      ...Array.from(instances, ({ id, name, metadata, createdMs }) => ({
        ...{ type: 'instance', id, name, metadata, createdMs },
      })),
      ...images.map(({ id, name, metadata }) => ({ type: 'image', id, name, metadata })),
    ];
  }

  async deleteResource({ type, id }: Resource, signal: AbortSignal): Promise<void> {
    if (type === 'image') await this.#client.removeImage(id, signal);
    else await this.#client.remove(id, signal);
  }

  tagResource({ id }: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    return this.#call('compute.POST.metadata', (own) => this.#client.tag(id, tags, own), signal);
  }

  async getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const limits = await this.#client.limits(signal);
    return Object.fromEntries(
      Object.entries(limits).filter((one): one is [string, number] => typeof one[1] === 'number'),
    );
  }

  async getQuotaForLabel(label: FakeLabelConfig, pool: FakePoolConfig, signal: AbortSignal): Promise<Resources> {
    const wanted = { flavor: label.flavorName, minRam: label.minRam };
    const flavor = await this.#client.flavor(wanted, signal);
    if (flavor) return { instances: 1, cores: flavor.cores, ram: flavor.ram };
    throw new ConfigError(
      `provider "${this.#config.name}": no flavor of the cloud fits label "${label.name}" of pool "${pool.name}" ` +
        `(${JSON.stringify(wanted)}): correct the label, or "flavors" of "cloud-settings"`,
    );
  }

  async getAZs(signal: AbortSignal): Promise<readonly (string | null)[]> {
    const zones = await this.#client.zones(signal);
    return zones.length > 0 ? zones : [null];
  }

  labelReady(label: FakeLabelConfig, _pool: FakePoolConfig, signal: AbortSignal): boolean | Promise<boolean> {
    if (label.diskimage !== undefined) return true;
    const image = this.#config.cloudImages.get(label.cloudImage ?? '');
    if (!image) return false;
    return image.imageId !== undefined || this.#client.hasImage(image.imageName, signal);
  }

  uploadImage(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    return uploadImage(this.#client, upload, signal);
  }

  async listImages(signal: AbortSignal, options: { all?: boolean | undefined } = {}): Promise<ProviderImage[]> {
    const images = await this.#client.listImages(signal);
    const shown =
      options.all === true ? images : images.filter((one) => one.metadata[PROVIDER_TAG] === this.#config.name);
    return shown.map(({ id, name, metadata, partial }) => ({
      externalId: id,
      name,
      ready: partial !== true,
      metadata,
    }));
  }

  deleteImage(externalId: string, signal: AbortSignal): Promise<void> {
    return this.#client.removeImage(externalId, signal);
  }

  async getConsoleLog(_label: FakeLabelConfig, externalId: string, signal: AbortSignal): Promise<string | undefined> {
    const shown = await this.#client.get(externalId, signal);
    return shown && `fake cloud: instance ${shown.name} (${shown.id}) is ${shown.status}`;
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
    const known = this.#translated.get(shown);
    if (known) return known;
    const instance = toInstance(shown, this.#config.cloud, this.#config.region);
    this.#translated.set(shown, instance);
    return instance;
  }
}
