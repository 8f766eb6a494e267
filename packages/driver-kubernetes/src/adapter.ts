import { randomUUID } from 'node:crypto';
import {
  isOurs,
  isNodepoolError,
  NODE_ID_TAG,
  POOL_TAG,
  sumResources,
  type Adapter,
  type AdapterContext,
  type CreateOrder,
  type DeleteOrder,
  type FoundCondition,
  type Instance,
  type InstanceChange,
  type NodeRecord,
  type Resource,
  type Resources,
  type StateMachine,
} from '@nodepool/core';
import { isFree } from '@nodepool/zk-protocol';
import type { KubernetesClient } from './client.js';
import type { KubernetesLabelConfig, KubernetesPoolConfig, KubernetesProviderConfig } from './config.js';
import { attemptOf, createMachine } from './create-node.js';
import { deleteMachine } from './delete-node.js';
import { Grants } from './grants.js';
import { usable, type KubernetesInstance } from './instance.js';
import { Inventory } from './inventory.js';
import { keepTokens } from './keep-tokens.js';
import { carries, isProjectOf, marksOf, mayDelete } from './ownership.js';
import { placeOf, planOf, type Place } from './plan.js';
import { Rights, unlessOut } from './rights.js';
import { Troubles } from './troubles.js';
import { checkRanges, limitsFor, needOf, recordedNeed, usageOf } from './usage.js';

type Order = CreateOrder<KubernetesLabelConfig, KubernetesPoolConfig>;

/** Adapter of a cluster. Core does waiting, retries and leaks. */
export class KubernetesAdapter implements Adapter<KubernetesInstance, KubernetesLabelConfig, KubernetesPoolConfig> {
  readonly #config: KubernetesProviderConfig;
  readonly #client: KubernetesClient;
  readonly #context: AdapterContext;
  readonly #inventory: Inventory;
  readonly #troubles: Troubles;
  readonly #rights: Rights;
  readonly #grants: Grants;
  /** Places of instances that are being created. */
  readonly #places = new Map<string, Place>();

  constructor(config: KubernetesProviderConfig, client: KubernetesClient, context: AdapterContext) {
    this.#config = config;
    this.#client = client;
    this.#context = context;
    this.#rights = new Rights(context.clock);
    this.#inventory = new Inventory({ config, client, context, rights: this.#rights });
    this.#troubles = new Troubles(config.name, context.clock);
    this.#grants = new Grants({ config, client, clock: context.clock, rights: this.#rights, troubles: this.#troubles });
  }

  /** Verifies server, credentials and permissions, and begins to watch. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#client.login();
    await this.#review(signal);
    await this.#inventory.start(signal);
  }

  async stop(): Promise<void> {
    await this.#inventory.stop();
    await this.#client.close();
  }

  onInstanceChange(listener: (change: InstanceChange<KubernetesInstance>) => void): () => void {
    return this.#inventory.onChange(({ externalId, instance }) =>
      listener({ externalId, instance: instance && this.#judged(instance) }),
    );
  }

  getCreateStateMachine(order: Order): StateMachine<Instance, KubernetesInstance> {
    const { label, pool, node, logger } = order;
    const plan = planOf(this.#config, order, attemptOf(order.resumed) ?? randomUUID());
    const { externalId } = plan;
    const place = { namespace: plan.namespace, pod: plan.pod?.name };
    this.#places.set(externalId, place);
    return createMachine({
      client: this.#client,
      plan,
      scheduleTimeoutMs: this.#config.scheduleTimeoutMs,
      grant: (signal, mayLack) => this.#grants.grant({ plan, logger, mayLack }, signal),
      grantShared: (pod, signal) => this.#grants.grantShared({ plan, pool, logger }, pod, signal),
      createRole: (role, signal) => this.#grants.createRole({ plan, role, logger }, signal),
      look: (signal) => this.#inventory.read(externalId, place, signal),
      isOfNode: ({ metadata }) => isOurs(metadata, this.#config.name, this.#context.databaseId, order.node),
      isOwn: ({ metadata }) => isOurs(metadata, this.#config.name, this.#context.databaseId),
      isWatching: () => this.#isWatching,
      isPolling: () => this.#inventory.polls,
      mark: () => this.#inventory.mark(externalId),
      changed: (since, { pod }, signal) =>
        this.#config.projects && pod
          ? this.#inventory.podChanged(pod, signal)
          : this.#inventory.changed(externalId, since, signal),
      note: (problem) => {
        if (problem) {
          const { reason, message: text, machineSaid } = problem;
          logger.info('Pod does not start', { node: node.id, reason, text, machineSaid });
        }
        this.#troubles.pod(pool.name, label.name, problem);
      },
      finish: async (instance, grant) => {
        const resources = recordedNeed(label);
        return { ...usable(instance, grant, place, label, await this.#client.login()), resources };
      },
    });
  }

  getDeleteStateMachine({ externalId, node }: DeleteOrder): StateMachine<void, KubernetesInstance> {
    const place = this.#placeOf(externalId, node);
    const { databaseId } = this.#context;
    return deleteMachine(externalId, {
      look: (signal) => this.#inventory.read(externalId, place, signal),
      mayDelete: ({ namespace, pod }) => {
        const meta = (namespace ?? pod)?.metadata ?? {};
        if (this.#config.projects && node && isProjectOf(meta, node)) return true;
        return mayDelete(meta, this.#config.name, node, databaseId);
      },
      delete: (uid, signal) => this.#delete(place, uid, signal),
      isWatching: () => this.#isWatching,
      isPolling: () => this.#inventory.polls,
      mark: () => this.#inventory.mark(externalId),
      changed: (since, signal) => this.#inventory.changed(externalId, since, signal),
      note: (instance) => this.#troubles.deletion(externalId, instance),
    });
  }

  async listInstances(signal: AbortSignal): Promise<readonly KubernetesInstance[]> {
    const instances = await this.#inventory.list(signal);
    const shown = this.#config.projects ? await this.#withPods(instances, signal) : instances;
    return shown.map((instance) => this.#judged(instance));
  }

  getInstance(externalId: string, signal: AbortSignal): Promise<KubernetesInstance | undefined> {
    return this.#inventory.read(externalId, this.#placeOf(externalId, undefined), signal);
  }

  /** Namespaces, or pods of shared namespaces. Also replaces idle nodes whose tokens end, and renews those of held ones. */
  async listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    const instances = await this.#inventory.list(signal);
    await keepTokens({ context: this.#context, grants: this.#grants }, signal);
    await this.#review(signal);
    return instances.map(({ externalId, metadata, namespace, pod }) => {
      const created = (namespace ?? pod)?.metadata.creationTimestamp;
      return {
        ...{ type: 'instance', id: externalId, metadata },
        ...(created !== undefined && { createdMs: Date.parse(created) }),
      };
    });
  }

  async deleteResource({ id, metadata }: Resource, signal: AbortSignal): Promise<void> {
    const place = this.#placeOf(id, undefined, metadata[POOL_TAG]);
    const found = await this.#inventory.read(id, place, signal);
    if (!found || !carries(found.metadata, metadata)) return;
    await this.#delete(place, found.uid, signal).catch(unlessGone);
  }

  async tagResource(
    { id, metadata }: Resource,
    tags: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, pod } = this.#placeOf(id, undefined, metadata[POOL_TAG]);
    const { ownNamespaces } = this.#config;
    // the description of a project has all tags
    const meta = { ...marksOf(this.#config.projects ? { ...metadata, ...tags } : tags) };
    if (ownNamespaces) await this.#client.mark('namespaces', undefined, namespace, meta, signal);
    else await this.#client.mark('pods', namespace, pod ?? '', meta, signal);
  }

  /** Of shared namespaces: their quotas minus what others use. A cluster as a whole has none. */
  async getQuotaLimits(signal: AbortSignal): Promise<Resources> {
    const { ownNamespaces, pools } = this.#config;
    if (ownNamespaces) return {};
    const namespaces = [...pools.keys()];
    const limits = await Promise.all(namespaces.map((namespace) => this.#limitsOf(namespace, signal)));
    const merged = limits.map((one, index) => named(this.#config, namespaces[index] ?? '', one));
    return Object.assign({}, ...merged) as Resources;
  }

  async getQuotaForLabel(
    label: KubernetesLabelConfig,
    pool: KubernetesPoolConfig,
    signal: AbortSignal,
  ): Promise<Resources> {
    if (this.#config.ownNamespaces) return recordedNeed(label);
    const right = { verb: 'list', group: '', resource: 'limitranges' };
    const ranges = await this.#rights.help(this.#client.getLimitRanges(pool.name, signal), right, () => []);
    checkRanges(label, ranges, pool.name);
    return { ...recordedNeed(label), ...named(this.#config, pool.name, needOf(label, ranges)) };
  }

  conditions(): readonly FoundCondition[] {
    const rights = this.#rights.condition(this.#config.name);
    return [...this.#troubles.conditions(this.#client, this.#inventory.failures), ...(rights ? [rights] : [])];
  }

  nodeDeletedNotification({ externalId }: NodeRecord): void {
    if (typeof externalId !== 'string') return;
    this.#places.delete(externalId);
    this.#troubles.deletion(externalId, undefined);
  }

  /** What was seen last is current. Events of projects may be lost between two watches. */
  get #isWatching(): boolean {
    return !this.#config.projects && this.#inventory.isWatching;
  }

  /** Asks the cluster what the account may do. Without an answer, refused calls show it. */
  async #review(signal: AbortSignal): Promise<void> {
    const right = { verb: 'create', group: 'authorization.k8s.io', resource: 'selfsubjectrulesreviews' };
    const ask = (namespace: string) =>
      this.#rights.help(this.#client.getOwnRules(namespace, signal), right, () => undefined).catch(unlessOut);
    await this.#rights.review(this.#config, ask);
  }

  #delete({ namespace, pod }: Place, uid: string | undefined, signal: AbortSignal): Promise<void> {
    if (this.#config.ownNamespaces) return this.#client.deleteNamespace(namespace, uid, signal);
    return this.#client.deletePod(namespace, pod ?? '', uid, signal);
  }

  #placeOf(externalId: string, node: NodeRecord | undefined, pool?: string): Place {
    const known = this.#places.get(externalId);
    return known ?? placeOf(this.#config, externalId, pool ?? node?.pool ?? undefined);
  }

  async #limitsOf(namespace: string, signal: AbortSignal): Promise<Resources> {
    const right = { verb: 'list', group: '', resource: 'resourcequotas' };
    const quotas = await this.#rights.help(this.#client.getResourceQuotas(namespace, signal), right, () => []);
    const own = this.#inventory.instances.flatMap(({ pod }) =>
      pod?.metadata.namespace === namespace ? [usageOf(pod)] : [],
    );
    return limitsFor(quotas, sumResources(own));
  }

  /** Accounts of OpenShift may not list the pods of all projects, so those of nodes that stand by are read one by one. */
  #withPods(instances: readonly KubernetesInstance[], signal: AbortSignal): Promise<KubernetesInstance[]> {
    return Promise.all(
      instances.map(async (instance) => {
        const node = this.#nodeOf(instance);
        const pod = node && isFree(node) ? podOf(node) : undefined;
        if (pod === undefined) return instance;
        const { externalId } = instance;
        return (await this.#inventory.read(externalId, { namespace: externalId, pod }, signal)) ?? instance;
      }),
    );
  }

  /** A pod that cannot be read is not missing. */
  #judged(instance: KubernetesInstance): KubernetesInstance {
    const node = this.#nodeOf(instance);
    const pod = node && podOf(node);
    if (pod !== undefined && this.#context.entries.mayHide('pods', pod)) return instance;
    return judged(instance, node, this.#config.projects);
  }

  #nodeOf({ externalId, metadata }: KubernetesInstance): NodeRecord | undefined {
    const node = this.#context.nodes.get(metadata[NODE_ID_TAG] ?? '');
    return node?.externalId === externalId ? node : undefined;
  }
}

/** With several namespaces, each has its own limits: their names begin with that of the namespace. */
function named({ pools }: KubernetesProviderConfig, namespace: string, amounts: Resources): Resources {
  if (pools.size === 1) return amounts;
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [`${namespace}/${name}`, amount]));
}

/** An instance whose pod is gone, of a node that is one. */
function judged(instance: KubernetesInstance, node: NodeRecord | undefined, projects: boolean): KubernetesInstance {
  if (instance.pod || instance.unusable !== undefined) return instance;
  const isMissing = node !== undefined && podOf(node) !== undefined && (!projects || isFree(node));
  return isMissing ? { ...instance, unusable: 'its pod does not exist any more' } : instance;
}

/** Name of the pod that a node is, once it was made. */
function podOf({ state, connectionType, connectionPort }: NodeRecord): string | undefined {
  if (connectionType !== 'kubectl' || state === 'building') return undefined;
  const { pod } = (connectionPort ?? {}) as { readonly pod?: unknown };
  return typeof pod === 'string' ? pod : undefined;
}

function unlessGone(error: unknown): void {
  if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
}
