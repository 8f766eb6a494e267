import { randomUUID } from 'node:crypto';
import { ConfigError, isOurs, sumResources } from '@nodepool/core';
import type {
  Adapter,
  AdapterContext,
  CreateOrder,
  DeleteOrder,
  FoundCondition,
  Instance,
  NodeRecord,
  Resource,
  Resources,
  StateMachine,
  TaskManager,
} from '@nodepool/core';
import { nameOf, type ApiInstance } from './api.js';
import { Catalog } from './catalog.js';
import type { ComputeClient } from './client.js';
import type { GceImageConfig, GceLabelConfig, GcePoolConfig, GceProviderConfig } from './config.js';
import { createMachine } from './create-node.js';
import { deleteMachine, type DeleteContext } from './delete-node.js';
import { readHostKeys } from './host-keys.js';
import { insertBody } from './insert-body.js';
import { isSpot, isStopped, toInstance, type GceInstance } from './instance.js';
import { Leftovers } from './leftovers.js';
import { loginConditions } from './login-refused.js';
import { Ownership } from './ownership.js';
import { OwnResources } from './own-resources.js';
import { largest, Quotas } from './quota.js';
import type { StartingState } from './create-state.js';
import { Stock, type Placement } from './stock.js';
import { stopMachine } from './stop-node.js';

type Order = CreateOrder<GceLabelConfig, GcePoolConfig>;

/** Google counts CPUs and addresses of running instances only. https://cloud.google.com/compute/resource-usage */
const STOPPED_USAGE: Resources = { instances: 1 };

/** Adapter of a region of Compute Engine. Core does waiting, retries, key scans, quota and leaks. */
export class GceAdapter implements Adapter<GceInstance, GceLabelConfig, GcePoolConfig> {
  /** Instances take long to boot, so frequent polling has no benefit. */
  readonly polling = { minMs: 500, maxMs: 3_000 };
  readonly #config: GceProviderConfig;
  readonly #client: ComputeClient;
  readonly #context: AdapterContext;
  readonly #reads: TaskManager;
  readonly #ownership: Ownership;
  readonly #catalog: Catalog;
  readonly #stock: Stock;
  readonly #quotas = new Quotas();
  readonly #end = new AbortController();
  readonly #own: OwnResources;
  readonly #leftovers: Leftovers;
  /** Zones to launch in. */
  #zones: readonly string[];
  /** All zones of the region, which the quotas cover. */
  #regionZones: readonly string[] = [];

  /** @param reads - stopped with the adapter */
  constructor(config: GceProviderConfig, client: ComputeClient, context: AdapterContext, reads: TaskManager) {
    this.#config = config;
    this.#client = client;
    this.#context = context;
    this.#reads = reads;
    this.#ownership = new Ownership(config.name, config.pools.keys());
    this.#own = new OwnResources({
      client,
      ownership: this.#ownership,
      ownNodes: () => context.ownNodes(),
      get databaseId() {
        return context.databaseId;
      },
      clock: context.clock,
      logger: context.logger,
    });
    const { logger } = context;
    this.#leftovers = new Leftovers({ client, own: this.#own, ownership: this.#ownership, logger });
    this.#catalog = new Catalog(client, context.clock, this.#end.signal);
    this.#stock = new Stock(context.clock);
    this.#zones = config.zones;
  }

  /** Verifies project, region and credentials, and reads zones and quotas. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#learn(signal);
    await this.#own.find(signal);
  }

  async stop(): Promise<void> {
    this.#end.abort(new Error('the provider stops'));
    this.#reads.stop();
    await this.#reads.join();
    await this.#client.close();
  }

  getCreateStateMachine(order: Order): StateMachine<Instance, GceInstance> {
    const { label, pool, hostname } = order;
    const image = imageOf(this.#config, label);
    return createMachine({
      client: this.#client,
      stock: this.#stock,
      name: hostname,
      resumed: order.resumed,
      placements: () => this.#placements(label, order.az),
      body: async (placement, requestId) => {
        const sourceImage = await this.#catalog.imageOf(image);
        return insertBody({ order, image, sourceImage, placement, requestId, region: this.#config.region });
      },
      look: (zone, name, signal) => this.#look(zone, name, signal),
      isOfNode: ({ metadata }) => isOurs(metadata, this.#config.name, this.#context.databaseId, order.node),
      isOwn: ({ metadata }) => isOurs(metadata, this.#config.name, this.#context.databaseId),
      forget: () => this.#catalog.forget(),
      newRequestId: randomUUID,
      finish: (instance) => ({ ...instance, resources: { ...instance.resources, ...this.#diskOf(label) } }),
      hostKeys: label.guestHostKeys
        ? (instance, isStarted, signal) => {
            const known = isStarted ? order.node.hostKeys : [];
            return readHostKeys(instance, { ...this.#hostKeysOptions(order, image, pool), known }, signal);
          }
        : undefined,
      hostKeysTimeoutMs: this.#config.bootTimeoutMs,
    });
  }

  getDeleteStateMachine(order: DeleteOrder): StateMachine<void, GceInstance> {
    return deleteMachine(order.externalId, this.#contextOf(order));
  }

  getStopStateMachine(order: DeleteOrder): StateMachine<StartingState, GceInstance> {
    const look = (zone: string, name: string, signal: AbortSignal) => this.#look(zone, name, signal);
    return stopMachine(order.externalId, { ...this.#contextOf(order), look });
  }

  async listInstances(signal: AbortSignal): Promise<readonly GceInstance[]> {
    const shown = await this.#own.inZones(this.#zones, signal);
    const instances = await Promise.all(shown.map((one) => this.#toInstance(one)));
    return [...instances, ...this.#own.hidden(instances)];
  }

  /** Whether a node has its instance, in whatever zone: lists lack those of the Python implementation. */
  async hasInstance(node: NodeRecord, signal: AbortSignal): Promise<boolean> {
    const name = typeof node.externalId === 'string' ? node.externalId : '';
    const zones = [...this.#zones, ...this.#regionZones];
    return (await this.#own.zoneOf({ name, listed: undefined, node, zones }, signal)) !== undefined;
  }

  /** Instances and disks, in all zones. */
  listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    return this.#leftovers.list(signal);
  }

  deleteResource(resource: Resource, signal: AbortSignal): Promise<void> {
    return this.#leftovers.delete(resource, signal);
  }

  tagResource(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    return this.#leftovers.tag(resource, tags, signal);
  }

  /** Limits minus usage of others. Own usage is read before and after, because it may change meanwhile. */
  async getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const before = await this.#ownUsage(signal);
    await this.#learn(signal);
    return this.#quotas.limits(largest(before, await this.#ownUsage(signal)));
  }

  /** Resources of the first machine type. The alternatives may need other resources; their quota errors tell. */
  async getQuotaForLabel(label: GceLabelConfig, pool: GcePoolConfig): Promise<Resources> {
    const [first] = await this.#placements(label, null);
    if (!first) {
      this.#catalog.forget(); // so that the next check reads current machine types
      throw machineTypeMissing(label, pool, this.#zones);
    }
    const { zone, machineType, spot } = first;
    const size = await this.#catalog.sizeOf(zone, machineType);
    const usage = { machineType, size, spot, externalIp: label.externalIp };
    return { ...this.#quotas.resourcesOf(usage), ...this.#diskOf(label) };
  }

  /** Whether the image family has an image. An image with a path is not checked. */
  async labelReady(label: GceLabelConfig): Promise<boolean> {
    await this.#catalog.requireImage(imageOf(this.#config, label), label.name);
    return true;
  }

  conditions(): readonly FoundCondition[] {
    return [...loginConditions(this.#config, this.#client.refusal), ...this.#own.conditions];
  }

  taskManagers(): readonly TaskManager[] {
    return [this.#reads];
  }

  async getConsoleLog(_label: GceLabelConfig, externalId: string, signal: AbortSignal): Promise<string | undefined> {
    const instances = await this.listInstances(signal);
    const instance = instances.find((one) => one.externalId === externalId);
    return instance && this.#client.getSerialPortOutput(instance.az, externalId, signal);
  }

  getAZs(): Promise<readonly string[]> {
    return Promise.resolve(this.#zones);
  }

  async #learn(signal: AbortSignal): Promise<void> {
    const [region, projectQuotas] = await Promise.all([
      this.#client.getRegion(signal),
      this.#client.getProjectQuotas(signal),
    ]);
    const existing = region.zones.map(nameOf);
    this.#regionZones = existing;
    const missing = this.#config.zones.find((zone) => !existing.includes(zone));
    if (missing !== undefined) {
      throw new ConfigError(
        `zone "${missing}" does not exist: region "${this.#config.region}" has ${existing.join(', ')}`,
      );
    }
    if (this.#config.zones.length === 0) this.#zones = existing;
    const allRegions = projectQuotas.filter(({ metric }) => metric === 'CPUS_ALL_REGIONS');
    this.#quotas.learn([...(region.quotas ?? []), ...allRegions]);
  }

  /**
   * Every zone with the first machine type, then with the next. The zone of the request's other nodes comes first. Skips
   * zones that do not answer.
   */
  async #placements({ machineTypes, spot }: GceLabelConfig, az: string | null): Promise<Placement[]> {
    const zones =
      az !== null && this.#zones.includes(az) ? [az, ...this.#zones.filter((one) => one !== az)] : this.#zones;
    const all = machineTypes.flatMap((machineType) => zones.map((zone) => ({ zone, machineType, spot })));
    const sizes = await Promise.allSettled(all.map(({ zone, machineType }) => this.#catalog.sizeOf(zone, machineType)));
    const failures = sizes.filter((size) => size.status === 'rejected');
    if (failures[0] && failures.length === all.length) throw failures[0].reason;
    return all.filter((_placement, index) => {
      const size = sizes[index];
      return size?.status === 'fulfilled' && size.value !== undefined;
    });
  }

  #contextOf({ node }: DeleteOrder): DeleteContext {
    return {
      client: this.#client,
      zoneOf: (name, listed, signal) =>
        this.#own.zoneOf({ name, listed, node, zones: [...this.#zones, ...this.#regionZones] }, signal),
      newRequestId: randomUUID,
    };
  }

  async #look(zone: string, name: string, signal: AbortSignal): Promise<GceInstance | undefined> {
    const shown = await this.#client.getInstance(zone, name, signal);
    return shown && this.#toInstance(shown);
  }

  async #toInstance(shown: ApiInstance): Promise<GceInstance> {
    const machineType = nameOf(shown.machineType);
    // An instance with an unknown size is still listed.
    const size = await this.#catalog.sizeOf(nameOf(shown.zone), machineType).catch(() => undefined);
    const spot = isSpot(shown);
    const externalIp = (shown.networkInterfaces ?? []).some(({ accessConfigs }) => accessConfigs?.length);
    const resources = this.#quotas.resourcesOf({ machineType, size, spot, externalIp });
    return toInstance(shown, this.#ownership.tagsOf(shown.labels), resources);
  }

  /** Own usage in the region of the quotas. */
  async #ownUsage(signal: AbortSignal): Promise<Resources> {
    const found = await this.#own.find(signal);
    const isHere = ({ zone }: { readonly zone: string }) => this.#regionZones.includes(nameOf(zone));
    const own = await Promise.all(found.instances.filter(isHere).map((shown) => this.#toInstance(shown)));
    const recorded = await this.#own.recordedOnly(found, signal);
    return sumResources([
      ...own.map((instance) => (isStopped(instance) ? STOPPED_USAGE : (instance.resources ?? {}))),
      ...found.disks
        .filter(isHere)
        .map((disk) => this.#quotas.resourcesOfDisk(nameOf(disk.type ?? ''), Number(disk.sizeGb))),
      ...recorded.filter(isHere).map(({ resources }) => resources),
    ]);
  }

  #diskOf({ volumeType, volumeGib }: GceLabelConfig): Resources {
    return this.#quotas.resourcesOfDisk(volumeType, volumeGib);
  }

  #hostKeysOptions({ logger }: Order, image: GceImageConfig, { useInternalIp }: GcePoolConfig) {
    const { clock, random } = this.#context;
    const { connectionPort, connectionType } = image;
    const target = { port: connectionPort, connectionType, useInternalIp: useInternalIp === true };
    return { client: this.#client, clock, random, logger, ...target };
  }
}

function imageOf({ cloudImages }: GceProviderConfig, { name, cloudImage }: GceLabelConfig): GceImageConfig {
  const image = cloudImages.get(cloudImage ?? '');
  if (image) return image;
  throw new ConfigError(`label "${name}": there is no cloud image "${cloudImage}"`);
}

function machineTypeMissing(label: GceLabelConfig, pool: GcePoolConfig, zones: readonly string[]): ConfigError {
  const types = label.machineTypes.join('", "');
  const message = `label "${label.name}" of pool "${pool.name}": none of ${zones.join(', ')} has machine type "${types}"`;
  const nextStep = 'correct "instance-type" of the label, or the zones of the provider';
  return new ConfigError(message, [], { reason: 'MachineTypeMissing', nextStep });
}
