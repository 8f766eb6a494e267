import type { AdapterContext, Clock, InstanceChange, Logger } from '@nodepool/core';
import type { ApiNamespace, ApiPod } from './api.js';
import type { KubernetesClient, Selection, Watched } from './client.js';
import type { KubernetesProviderConfig } from './config.js';
import { toInstance, type KubernetesInstance } from './instance.js';
import { isOwn, selectorOf } from './ownership.js';
import type { Rights } from './rights.js';
import { PROJECT_GROUP } from './spaces.js';
import { Watcher, type Change, type WatchFailure } from './watcher.js';

type InstanceListener = (change: InstanceChange<KubernetesInstance>) => void;

/** Dependencies of an {@link Inventory}. */
export interface InventoryOptions {
  readonly config: Pick<KubernetesProviderConfig, 'name' | 'pools' | 'ownNamespaces' | 'projects'>;
  readonly client: Pick<KubernetesClient, 'list' | 'watch' | 'getNamespace' | 'findNamespace' | 'getPod'>;
  readonly context: Pick<AdapterContext, 'clock' | 'logger' | 'random' | 'apiAnswered'>;
  readonly rights: Rights;
}

/** The instances of a provider, kept current by watches. */
export class Inventory {
  readonly #options: InventoryOptions;
  readonly #namespaces: Watcher<'namespaces'> | undefined;
  readonly #pods: readonly Watcher<'pods'>[];
  readonly #listeners = new Set<InstanceListener>();
  /** Number of changes of each instance that is there. */
  readonly #changes = new Map<string, number>();
  /** Objects by external id. */
  readonly #known = new Map<string, { namespace: ApiNamespace | undefined; pod: ApiPod | undefined }>();

  constructor(options: InventoryOptions) {
    this.#options = options;
    const { config } = options;
    const selector = selectorOf(config.name);
    const hasPods = [...config.pools.values()].some(({ labels }) => [...labels.values()].some(isPodLabel));
    if (config.ownNamespaces) {
      const onNamespace = (change: Change<ApiNamespace>) => this.#namespaceChanged(change);
      this.#namespaces = this.#watcher({ kind: 'namespaces', selector }, onNamespace);
    }
    const inAll = hasPods && !config.projects ? [undefined] : [];
    const places = config.ownNamespaces ? inAll : [...config.pools.keys()];
    this.#pods = places.map((namespace) =>
      this.#watcher({ kind: 'pods', namespace, selector }, (change) => this.#podChanged(change)),
    );
  }

  /** Why changes do not arrive; empty: they do. */
  get failures(): readonly WatchFailure[] {
    return this.#watchers.flatMap(({ failure }) => (failure ? [failure] : []));
  }

  /** Whether changes arrive at present. */
  get isWatching(): boolean {
    return this.#watchers.every(({ failure, polls }) => failure === undefined && !polls);
  }

  /** Whether lists are taken, as watches are refused. */
  get polls(): boolean {
    return this.#watchers.some(({ polls }) => polls);
  }

  /** All instances, as last seen. */
  get instances(): readonly KubernetesInstance[] {
    return [...this.#known.keys()].flatMap((externalId) => this.#instanceOf(externalId) ?? []);
  }

  /** Lists all objects and begins to watch them. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#watchers.map((watcher) => watcher.start(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watchers.map((watcher) => watcher.stop()));
  }

  /** Calls the listener with each change. @returns a function that removes it */
  onChange(listener: InstanceListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The present moment for {@link changed}. */
  mark(externalId: string): number {
    return this.#changes.get(externalId) ?? 0;
  }

  /** Resolves when an instance has changed since the mark. */
  changed(externalId: string, since: number, signal: AbortSignal): Promise<void> {
    if (this.mark(externalId) !== since) return Promise.resolve();
    return new Promise((resolve) => {
      const end = this.onChange((change) => {
        if (change.externalId === externalId) finish();
      });
      const finish = () => {
        end();
        signal.removeEventListener('abort', finish);
        resolve();
      };
      signal.addEventListener('abort', finish, { once: true });
      if (signal.aborted) finish();
    });
  }

  /**
   * Resolves when a pod has changed since it was read. Accounts of OpenShift may watch the pods of their projects, and not those of
   * the cluster, so each pod is watched until it runs.
   */
  async podChanged({ metadata }: ApiPod, signal: AbortSignal): Promise<void> {
    const { client, config } = this.#options;
    const selection = { kind: 'pods', namespace: metadata.namespace, selector: selectorOf(config.name) } as const;
    try {
      for await (const { type } of client.watch(selection, metadata.resourceVersion ?? '', signal)) {
        if (type !== 'BOOKMARK' && type !== 'ERROR') return;
      }
    } catch {
      // the caller looks again when the signal ends
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }

  /** Lists all objects now. */
  async list(signal: AbortSignal): Promise<readonly KubernetesInstance[]> {
    await Promise.all(this.#watchers.map((watcher) => watcher.list(signal)));
    return this.instances;
  }

  /** The present state of one instance. @param pod - name of its pod, if it has one */
  async read(
    externalId: string,
    place: { readonly namespace: string; readonly pod: string | undefined },
    signal: AbortSignal,
  ): Promise<KubernetesInstance | undefined> {
    const { client, config } = this.#options;
    const [namespace, pod] = await Promise.all([
      config.ownNamespaces ? this.#readNamespace(place.namespace, signal) : undefined,
      place.pod === undefined ? undefined : client.getPod(place.namespace, place.pod, signal),
    ]);
    return config.ownNamespaces && !namespace ? undefined : toInstance(externalId, namespace, pod);
  }

  #readNamespace(name: string, signal: AbortSignal): Promise<ApiNamespace | undefined> {
    const { client, rights } = this.#options;
    const right = { verb: 'get', group: '', resource: 'namespaces' };
    return rights.help(client.getNamespace(name, signal), right, () => client.findNamespace(name, signal));
  }

  get #watchers(): (Watcher<'namespaces'> | Watcher<'pods'>)[] {
    return [...(this.#namespaces ? [this.#namespaces] : []), ...this.#pods];
  }

  #watcher<Kind extends keyof Watched>(
    selection: Selection<Kind>,
    listener: (change: Change<Watched[Kind]>) => void,
  ): Watcher<Kind> {
    const { client, context, config } = this.#options;
    const isResumable = !config.projects;
    const { clock, logger, random }: { clock: Clock; logger: Logger; random: () => number } = context;
    const answered = (error: Error | undefined) => context.apiAnswered?.(error);
    const { rights } = this.#options;
    const resource = config.projects && selection.kind === 'namespaces' ? 'projects' : selection.kind;
    const right = { verb: 'watch', group: resource === 'projects' ? PROJECT_GROUP : '', resource };
    const refused = (error: unknown) => {
      if (error === undefined) rights.allowed(right);
      return rights.refused(error);
    };
    return new Watcher({ client, selection, clock, logger, random, answered, refused, isResumable }, listener);
  }

  #namespaceChanged({ object, isGone }: Change<ApiNamespace>): void {
    if (!isOwn(object.metadata, this.#options.config.name)) return;
    const { name } = object.metadata;
    const known = this.#known.get(name);
    if (isGone) this.#known.delete(name);
    else this.#known.set(name, { namespace: object, pod: known?.pod });
    this.#notify(name);
  }

  #podChanged({ object, isGone }: Change<ApiPod>): void {
    const { config } = this.#options;
    if (!isOwn(object.metadata, config.name)) return;
    const { namespace = '', name } = object.metadata;
    const externalId = config.ownNamespaces ? namespace : podId(namespace, name);
    const known = this.#known.get(externalId);
    if (isGone && !known?.namespace) this.#known.delete(externalId);
    else this.#known.set(externalId, { namespace: known?.namespace, pod: isGone ? undefined : object });
    this.#notify(externalId);
  }

  #notify(externalId: string): void {
    const instance = this.#instanceOf(externalId);
    // A pod may be seen before its namespace.
    if (!instance && this.#known.has(externalId)) return;
    if (instance) this.#changes.set(externalId, this.mark(externalId) + 1);
    else this.#changes.delete(externalId);
    for (const listener of this.#listeners) listener({ externalId, instance: instance ?? null });
  }

  #instanceOf(externalId: string): KubernetesInstance | undefined {
    const { namespace, pod } = this.#known.get(externalId) ?? {};
    if (this.#options.config.ownNamespaces && !namespace) return undefined;
    return toInstance(externalId, namespace, pod);
  }
}

/** External id of a pod in a shared namespace, as in the original. */
export function podId(namespace: string, pod: string): string {
  return `${namespace}-${pod}`;
}

function isPodLabel({ type }: { readonly type: string }): boolean {
  return type === 'pod';
}
