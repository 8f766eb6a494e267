import { networkInterfaces } from 'node:os';
import type { Resources } from '@nodepool/zk-protocol';
import {
  ConfigError,
  isOurs,
  POOL_TAG,
  PROVIDER_TAG,
  TaskManager,
  type Adapter,
  type AdapterContext,
  type CreateOrder,
  type DeleteOrder,
  type FoundCondition,
  type ImageUpload,
  type Instance,
  type ProviderImage,
  type Resource,
  type StateMachine,
} from '@nodepool/core';
import { needsFloatingIp } from './addresses.js';
import { Cached } from './cached.js';
import { CapacityMemory } from './capacity-memory.js';
import { OpenStackClient } from './client/client.js';
import type { Server, ServerOrder } from './client/compute.js';
import type { RefusedLogins } from './client/refused-logins.js';
import type { Transport } from './client/transport.js';
import { CloudFacts } from './cloud-facts.js';
import type { OpenStackLabel, OpenStackPool, OpenStackProvider } from './config.js';
import { createMachine, type CreateState } from './create-node.js';
import { deleteMachine } from './delete-node.js';
import { FloatingIps } from './floating-ips.js';
import { Images } from './images.js';
import { toInstance, type InstanceContext, type OpenStackInstance } from './instance.js';
import { needsOf } from './label-needs.js';
import { Leftovers, timeOf } from './leftovers.js';
import { limitsOf } from './limits.js';
import { loginRefused } from './login-refused.js';
import { markVolumes } from './mark-volumes.js';
import { serverOrder, zoneFor } from './server-order.js';
import { stopMachine } from './stop-node.js';

/** Parts that tests replace. */
export interface AdapterParts {
  /** Default: over the network. */
  readonly transport?: Transport | undefined;
  /** Default: one per adapter. */
  readonly logins?: RefusedLogins | undefined;
}

/** At most one list a second; every ten seconds while idle. */
const POLLING = { minMs: 1_000, maxMs: 10_000 };
const VOLUME_LIFE_MS = 30_000;
const SHARED_CALLS = 20;

/** Adapter of a cloud for core's state-machine provider. */
export class OpenStackAdapter implements Adapter<OpenStackInstance, OpenStackLabel, OpenStackPool> {
  readonly polling: { readonly minMs: number; readonly maxMs: number };
  readonly #config: OpenStackProvider;
  readonly #context: AdapterContext;
  readonly #client: OpenStackClient;
  readonly #shared: TaskManager;
  readonly #facts: CloudFacts;
  readonly #floatingIps: FloatingIps;
  readonly #capacity: CapacityMemory;
  readonly #images: Images;
  readonly #leftovers: Leftovers;
  readonly #volumeSizes: Cached<ReadonlyMap<string, number>>;
  readonly #hasIpv6 = hasGlobalIpv6();

  /** @throws {ConfigError} the cloud is not known; the provider is created again later */
  constructor(config: OpenStackProvider, context: AdapterContext, { transport, logins }: AdapterParts = {}) {
    const { clock, logger, metrics } = context;
    if (!config.settings) throw new ConfigError(config.cloudProblem ?? `cloud "${config.cloud}" is not known`);
    const random = () => context.random();
    this.#config = config;
    this.#context = context;
    const { callsPerSecond: requestsPerSecond, settings, credentials, name } = config;
    const client = new OpenStackClient({
      settings,
      credentials,
      transport,
      clock,
      logger,
      name,
      metrics,
      requestsPerSecond,
      random,
      logins,
      entries: context.entries,
    });
    this.#client = client;
    this.#shared = new TaskManager(`${name} shared`, { clock, logger, random, maxParallel: SHARED_CALLS });
    this.#facts = new CloudFacts(client, clock, logger);
    this.#floatingIps = new FloatingIps(client, this.#shared, () => this.#facts.networks());
    this.#capacity = new CapacityMemory(clock);
    this.#images = new Images({ client, clock, logger, provider: name, timeoutMs: config.imageUploadTimeoutMs });
    this.#leftovers = new Leftovers({
      ...{ client, config, clock, logger, metrics, floatingIps: this.#floatingIps },
      get databaseId() {
        return context.databaseId;
      },
    });
    this.#volumeSizes = new Cached(clock, VOLUME_LIFE_MS, async (signal) => {
      const volumes = (await client.volume.exists(signal)) ? await client.volume.volumes(signal) : [];
      return new Map(volumes.map(({ id, sizeGb }) => [id, sizeGb]));
    });
    const minMs = Math.max(POLLING.minMs, settings.serverListMs ?? 0);
    this.polling = { minMs, maxMs: Math.max(minMs, POLLING.maxMs) };
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#client.connect(signal);
  }

  refresh(): void {
    this.#facts.flush();
  }

  async stop(): Promise<void> {
    this.#shared.stop();
    await this.#shared.join();
    await this.#client.close();
  }

  getCreateStateMachine(order: CreateOrder<OpenStackLabel, OpenStackPool>): StateMachine<Instance, OpenStackInstance> {
    return createMachine({
      client: this.#client,
      facts: this.#facts,
      floatingIps: this.#floatingIps,
      capacity: this.#capacity,
      order,
      provider: this.#config.name,
      bootTimeoutMs: this.#config.bootTimeoutMs,
      makeOrder: () => this.#makeOrder(order),
      toInstance: async (server) => toInstance(server, await this.#instanceContext([server])),
      needsFloatingIp: async (server) =>
        order.pool.autoFloatingIp && needsFloatingIp(server, await this.#facts.networks(), this.#client.settings),
      markVolumes: (server, signal) => markVolumes(this.#client, server, order.metadata, this.#context.logger, signal),
    });
  }

  getDeleteStateMachine({ externalId, node }: DeleteOrder): StateMachine<void, OpenStackInstance> {
    return deleteMachine(externalId, {
      client: this.#client,
      floatingIps: this.#floatingIps,
      mayHaveFloatingIps: this.#mayHaveFloatingIps,
      provider: this.#config.name,
      databaseId: this.#context.databaseId,
      node,
    });
  }

  getStopStateMachine({ externalId }: DeleteOrder): StateMachine<CreateState, OpenStackInstance> {
    return stopMachine(externalId, this.#client);
  }

  async listInstances(signal: AbortSignal): Promise<readonly OpenStackInstance[]> {
    const servers = await this.#client.compute.servers(signal);
    const context = await this.#instanceContext(servers);
    const instances = servers.map((server) => this.#shown(server, context));
    this.#leftovers.saw(instances);
    return instances;
  }

  async getInstance(externalId: string, signal: AbortSignal): Promise<OpenStackInstance | undefined> {
    const server = await this.#client.compute.server(externalId, signal);
    if (!server) return undefined;
    const instance = this.#shown(server, await this.#instanceContext([server]));
    this.#leftovers.noted(instance);
    return instance;
  }

  async listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    const instances = await this.listInstances(signal);
    return [
      ...instances
        .filter(({ deleted }) => !deleted)
        .map(({ externalId, metadata, server: { name, createdAt } }) => ({
          ...{ type: 'instance', id: externalId, name, metadata, createdMs: timeOf(createdAt) },
        })),
      ...(await this.#leftovers.resources(instances, signal)),
    ];
  }

  async deleteResource(resource: Resource, signal: AbortSignal): Promise<void> {
    if (resource.type === 'instance') {
      if (this.#mayHaveFloatingIps) await this.#floatingIps.removeUnmarkedOn(resource.id, signal);
      await this.#client.compute.deleteServer(resource.id, signal);
    } else await this.#leftovers.delete(resource, signal);
  }

  async tagResource(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    if (resource.type === 'instance') await this.#client.compute.mark(resource.id, tags, signal);
    else await this.#leftovers.tag(resource, tags, signal);
  }

  getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const { pools } = this.#config;
    const labels = [...pools.values()].flatMap((pool) => [...pool.labels.values()]);
    return limitsOf(this.#client, signal, {
      logger: this.#context.logger,
      usesFloatingIps: this.#mayHaveFloatingIps,
      usesVolumes: labels.some(({ bootFromVolume }) => bootFromVolume),
      isOwn: (tags) => isOurs(tags, this.#config.name, this.#context.databaseId),
    });
  }

  getQuotaForLabel(label: OpenStackLabel, pool: OpenStackPool): Promise<Resources> {
    return needsOf(label, pool, this.#facts, this.#config.cloudImages, this.#client.settings);
  }

  /** Available zones. If the cloud does not list them, it chooses the zone. */
  async getAZs(): Promise<readonly (string | null)[]> {
    try {
      const zones = await this.#facts.zones();
      return zones.length > 0 ? zones : [null];
    } catch (error) {
      this.#context.logger.warn('Reading availability zones failed; the cloud chooses the zone', { error });
      return [null];
    }
  }

  labelReady(label: OpenStackLabel): boolean | Promise<boolean> {
    if (label.diskimage !== undefined) return true;
    const image = this.#config.cloudImages.get(label.cloudImage ?? '');
    if (!image) return false;
    if (image.imageId !== undefined) return true;
    return this.#facts.requireImage(image.imageName, label.name).then(() => true);
  }

  conditions(): readonly FoundCondition[] {
    const { refusal } = this.#client;
    return refusal ? [loginRefused(this.#config, refusal)] : [];
  }

  taskManagers(): readonly TaskManager[] {
    return this.#client.taskManagers;
  }

  uploadImage(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    return this.#images.upload(upload, signal);
  }

  deleteImage(externalId: string, signal: AbortSignal): Promise<void> {
    return this.#images.delete(externalId, signal);
  }

  listImages(signal: AbortSignal, options: { readonly all?: boolean | undefined } = {}): Promise<ProviderImage[]> {
    return this.#images.list(options.all === true, signal);
  }

  getConsoleLog(_label: OpenStackLabel, externalId: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#client.compute.consoleOutput(externalId, signal);
  }

  get #mayHaveFloatingIps(): boolean {
    const { floatingIpSource, isPrivate, hasNetwork } = this.#client.settings;
    if (floatingIpSource !== 'neutron' || isPrivate || !hasNetwork) return false;
    return [...this.#config.pools.values()].some(({ autoFloatingIp }) => autoFloatingIp);
  }

  async #makeOrder(order: CreateOrder<OpenStackLabel, OpenStackPool>): Promise<ServerOrder> {
    const made = await serverOrder(order, this.#config, this.#facts);
    const isFull = (zone: string | null): boolean => this.#capacity.isFull({ ...made, zone });
    const zone = isFull(order.az) ? zoneFor(order, await this.getAZs(), isFull) : order.az;
    return { ...made, zone: zone ?? undefined };
  }

  /** Translates a server. It is not ready while it needs a floating IP or has not printed its host keys. */
  #shown(server: Server, context: InstanceContext): OpenStackInstance {
    const instance = toInstance(server, context);
    const pool = this.#config.pools.get(server.metadata[POOL_TAG] ?? '');
    if (!instance.ready || !pool || server.metadata[PROVIDER_TAG] !== this.#config.name) return instance;
    const lacksAddress = pool.autoFloatingIp && needsFloatingIp(server, context.networks, context.settings);
    const hasToPrint = [...pool.labels.values()].some((label) => label.hostKeysFromConsole);
    return lacksAddress || hasToPrint ? { ...instance, ready: false } : instance;
  }

  async #instanceContext(servers: readonly Server[]): Promise<InstanceContext> {
    const [flavors, networks] = await Promise.all([this.#facts.flavors(), this.#facts.networks()]);
    const hasVolumes = servers.some(({ volumeIds }) => volumeIds.length > 0);
    return {
      settings: this.#client.settings,
      region: this.#config.region,
      networks,
      flavors: new Map(flavors.flatMap((flavor) => [[flavor.id, flavor] as const, [flavor.name, flavor] as const])),
      volumeSizes: hasVolumes ? await this.#sizesOf(servers) : new Map(),
      hasIpv6: this.#hasIpv6,
    };
  }

  async #sizesOf(servers: readonly Server[]): Promise<ReadonlyMap<string, number>> {
    const known = await this.#volumeSizes.get();
    if (servers.some(({ volumeIds }) => volumeIds.some((id) => !known.has(id)))) this.#volumeSizes.flush(1_000);
    return this.#volumeSizes.get();
  }
}

/** Whether this computer can reach external IPv6 addresses. */
function hasGlobalIpv6(): boolean {
  return Object.values(networkInterfaces()).some((list) =>
    list?.some(({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe80|^f[cd]/i.test(address)),
  );
}
