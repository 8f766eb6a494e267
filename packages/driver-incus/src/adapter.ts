import { randomUUID } from 'node:crypto';
import {
  ConfigError,
  isOurs,
  type Adapter,
  type AdapterContext,
  type CreateOrder,
  type DeleteOrder,
  type FoundCondition,
  type ImageUpload,
  type Instance,
  type NodeRecord,
  type ProviderImage,
  type Resource,
  type Resources,
  type StateMachine,
} from '@nodepool/core';
import type { ApiResources } from './api.js';
import { IncusClient, type RefusedClient } from './client.js';
import type { IncusImageConfig, IncusLabelConfig, IncusPoolConfig, IncusProviderConfig } from './config.js';
import { createMachine, type CreateContext, type CreateState, type Login } from './create-node.js';
import { deleteMachine } from './delete-node.js';
import { readHostKeys } from './host-keys.js';
import { Images } from './images.js';
import { instanceBody } from './instance-body.js';
import { toInstance, type IncusInstance } from './instance.js';
import { Leftovers } from './leftovers.js';
import { Operations } from './operations.js';
import { instanceName, tagsOf } from './ownership.js';
import { checkLabel } from './label-needs.js';
import { limitsOf } from './quota.js';
import { connectServer, type Server } from './server.js';
import { stopMachine } from './stop-node.js';
import type { Transport } from './transport.js';

type Order = CreateOrder<IncusLabelConfig, IncusPoolConfig>;

/** Adapter of a project on a server or cluster. Core does waiting, retries, key scans, quota and leaks. */
export class IncusAdapter implements Adapter<IncusInstance, IncusLabelConfig, IncusPoolConfig> {
  /** No event tells an address, so lists do; reading the state of a container costs milliseconds. */
  readonly polling = { minMs: 100, maxMs: 5_000 };
  readonly #config: IncusProviderConfig;
  readonly #context: AdapterContext;
  readonly #client: IncusClient;
  readonly #operations: Operations;
  readonly #images: Images;
  readonly #leftovers: Leftovers;
  #server: Server | undefined;

  constructor(config: IncusProviderConfig, context: AdapterContext, transport: Transport) {
    const { clock, logger, tasks, entries } = context;
    const { name, project, imageType: type, imageUploadTimeoutMs: timeoutMs } = config;
    this.#config = config;
    this.#context = context;
    const client = new IncusClient({ transport, project, tasks, clock, entries });
    this.#client = client;
    this.#operations = new Operations({ client, clock, logger, random: () => context.random() });
    const operations = this.#operations;
    this.#images = new Images({ client, operations, clock, logger, provider: name, type, timeoutMs });
    this.#leftovers = new Leftovers({
      ...{ client, operations, provider: name },
      get databaseId() {
        return context.databaseId;
      },
    });
  }

  /** Connects, with the trust token at the first contact, and listens to events. */
  async start(signal: AbortSignal): Promise<void> {
    this.#server = await connectServer(this.#client, this.#config.connection, signal);
    const { product, version, isClustered } = this.#server;
    this.#context.logger.info('Connected to the daemon', { server: product, version, isClustered });
    this.#operations.start();
  }

  async stop(): Promise<void> {
    await this.#operations.stop();
    await this.#client.close();
  }

  getCreateStateMachine(order: Order): StateMachine<Instance, IncusInstance> {
    const { label, pool, metadata, az } = order;
    const name = instanceName(order.hostname, metadata);
    const image = this.#config.cloudImages.get(label.cloudImage ?? '');
    const startsOnCreation = this.#server?.startsOnCreation === true;
    const context: CreateContext = {
      client: this.#client,
      operations: this.#operations,
      name,
      target: az ?? undefined,
      startsOnCreation,
      body: (attempt) => instanceBody({ order, name, attempt, image, start: startsOnCreation }),
      newAttempt: randomUUID,
      isOfNode: (found) => isOurs(found.metadata, this.#config.name, this.#context.databaseId, order.node),
      isOwn: (found) => isOurs(found.metadata, this.#config.name, this.#context.databaseId),
      look: (signal) => this.getInstance(name, signal),
      usesUpload: order.imageExternalId !== undefined,
      login: label.cloneFrom === undefined ? {} : loginOfCopies(label),
      hostKeys: pool.labels.get(label.name)?.hostKeyChecking
        ? (instance, signal) => readHostKeys(instance, this.#hostKeysOptions(image), signal)
        : undefined,
    };
    return createMachine(context, order.resumed);
  }

  getDeleteStateMachine({ externalId, node }: DeleteOrder): StateMachine<void, IncusInstance> {
    return deleteMachine(externalId, {
      client: this.#client,
      operations: this.#operations,
      own: async (name, signal) => {
        const { found, isOwn } = await this.#look(name, node, signal);
        if (!found && node) await this.#assertNotElsewhere(name, node, signal);
        return isOwn ? found : undefined;
      },
    });
  }

  getStopStateMachine({ externalId, node }: DeleteOrder): StateMachine<CreateState, IncusInstance> {
    return stopMachine(externalId, {
      client: this.#client,
      operations: this.#operations,
      own: async (name, signal) => {
        const { found, isOwn } = await this.#look(name, node, signal);
        return isOwn ? found : undefined;
      },
    });
  }

  async listInstances(signal: AbortSignal): Promise<readonly IncusInstance[]> {
    return (await this.#client.instances(signal)).map((shown) => toInstance(shown, this.#product));
  }

  async getInstance(externalId: string, signal: AbortSignal): Promise<IncusInstance | undefined> {
    const shown = await this.#client.instance(externalId, signal);
    return shown && toInstance(shown, this.#product);
  }

  async listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    return this.#leftovers.of(await this.#client.instances(signal));
  }

  deleteResource(resource: Resource, signal: AbortSignal): Promise<void> {
    return this.#leftovers.delete(resource, signal);
  }

  tagResource(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    return this.#leftovers.tag(resource, tags, signal);
  }

  async getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const { cpuOvercommit: cpu, memoryOvercommit: memory } = this.#config;
    const members = await this.#onlineMembers(signal);
    const [project, servers] = await Promise.all([
      this.#client.projectConfig(signal),
      this.#resourcesOf(members, signal),
    ]);
    return limitsOf(project, servers, { cpu, memory });
  }

  getQuotaForLabel({ cpus, memoryMib, diskGib }: IncusLabelConfig): Promise<Resources> {
    return Promise.resolve({
      instances: 1,
      ...(cpus !== undefined && { cores: cpus }),
      ...(memoryMib !== undefined && { ram: memoryMib }),
      ...(diskGib !== undefined && { 'disk-gb': diskGib }),
    });
  }

  /** Members of the cluster that are online; without a cluster one zone without a name. */
  getAZs(signal: AbortSignal): Promise<readonly (string | null)[]> {
    return this.#onlineMembers(signal);
  }

  /** Whether all that the label names is there. */
  async labelReady(label: IncusLabelConfig, _pool: IncusPoolConfig, signal: AbortSignal): Promise<boolean> {
    await checkLabel(label, this.#config, this.#client, signal);
    return true;
  }

  conditions(): readonly FoundCondition[] {
    return untrustedConditions(this.#config.name, this.#client.refused);
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

  getConsoleLog(_label: IncusLabelConfig, externalId: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#client.consoleLog(externalId, signal);
  }

  /** Hardware of the members that answer. @throws the error of the first if none does */
  async #resourcesOf(members: readonly (string | null)[], signal: AbortSignal): Promise<ApiResources[]> {
    const answers = await Promise.allSettled(members.map((one) => this.#client.resources(one ?? undefined, signal)));
    const failed = answers.filter((answer) => answer.status === 'rejected');
    if (failed[0] && failed.length === answers.length) throw failed[0].reason;
    for (const { reason } of failed) {
      this.#context.logger.warn('A cluster member does not tell its hardware; it is not counted', {
        error: reason as unknown,
      });
    }
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  get #product(): string {
    return this.#server?.product ?? 'Incus';
  }

  /** The instance of this name, and whether it is the node's. @param node - `undefined`: its record is deleted */
  async #look(name: string, node: NodeRecord | undefined, signal: AbortSignal) {
    const found = await this.getInstance(name, signal);
    const isOwn = found !== undefined && isOurs(found.metadata, this.#config.name, this.#context.databaseId, node);
    return { found, isOwn };
  }

  /** An instance that is missing may be in the project that was configured when it was created. @throws {ConfigError} it is */
  async #assertNotElsewhere(name: string, node: NodeRecord, signal: AbortSignal): Promise<void> {
    const { name: provider } = this.#config;
    for (const one of await this.#client.instancesElsewhere(name, signal)) {
      if (!isOurs(tagsOf(one), provider, this.#context.databaseId, node)) continue;
      const nextStep = `set "project" of the provider to "${one.project}" until its nodes are deleted`;
      throw new ConfigError(`instance "${name}" is in the project "${one.project}": ${nextStep}`, [], {
        reason: 'ProjectChanged',
        nextStep,
      });
    }
  }

  async #onlineMembers(signal: AbortSignal): Promise<readonly (string | null)[]> {
    if (this.#server?.isClustered !== true) return [null];
    const members = await this.#client.members(signal);
    return members.filter(({ status }) => status === 'Online').map(({ server_name: name }) => name);
  }

  #hostKeysOptions(image: IncusImageConfig | undefined) {
    const { connectionPort: port = 22, connectionType = 'ssh' } = image ?? {};
    return {
      client: this.#client,
      clock: this.#context.clock,
      port,
      connectionType,
      timeoutMs: this.#config.bootTimeoutMs,
    };
  }
}

/** Copies have no image that tells how to log in. */
function loginOfCopies({ username }: IncusLabelConfig): Login {
  return { connectionType: 'ssh', connectionPort: 22, ...(username !== undefined && { username }) };
}

/** Condition of a client that the daemon does not trust. */
function untrustedConditions(provider: string, refused: RefusedClient | undefined): FoundCondition[] {
  if (!refused) return [];
  return [
    {
      ...{ kind: 'provider', name: provider, type: 'LoginRefused', severity: 'error', reason: 'Untrusted', ...refused },
      nextStep:
        'on the server: incus config trust add NAME (LXD: lxc config trust add), and set its token as trust-token',
      evidence: {},
    },
  ];
}
