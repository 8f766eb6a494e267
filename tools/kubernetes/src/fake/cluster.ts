import type { Clock } from '@nodepool/zk-protocol';
import { alreadyExists, exceeded, noAccount, notFound, otherUid, terminating, type Refused } from './refusals.js';
import { Store, type Stored } from './store.js';

/** How fast a {@link FakeCluster} works. */
export interface FakeClusterOptions {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** Time until a pod runs. */
  readonly startMs: number;
  /** Time until a deleted namespace or pod is gone. */
  readonly deleteMs: number;
  /** Time until a namespace has its service account. */
  readonly accountMs: number;
}

/** What becomes of the next pod. */
export type PodFate = 'runs' | 'fails' | 'pends' | 'unschedulable' | 'unpullable';

/** The state of a cluster, and its controllers. */
export class FakeCluster {
  readonly store: Store;
  readonly #options: FakeClusterOptions;
  readonly #fates: PodFate[] = [];
  /** Whether the next pod is refused for its quota. */
  readonly #refusals: 'quota'[] = [];

  constructor(options: FakeClusterOptions) {
    this.#options = options;
    this.store = new Store(() => options.clock.now());
    for (const name of ['default', 'kube-system']) this.#createNamespace({ metadata: { name } });
  }

  /** Decides what becomes of the next pod. */
  nextPod(fate: PodFate | 'refused'): void {
    if (fate === 'refused') this.#refusals.push('quota');
    else this.#fates.push(fate);
  }

  /** Limits the pods of a namespace; `undefined`: no limit. */
  setQuota(namespace: string, pods: number | undefined): void {
    const name = 'quota';
    const known = this.store.get('resourcequotas', namespace, name);
    if (known) this.store.remove('resourcequotas', known);
    if (pods === undefined) return;
    this.store.create('resourcequotas', { metadata: { name, namespace }, spec: { hard: { pods: String(pods) } } });
    this.#countPods(namespace);
  }

  create(kind: string, namespace: string | undefined, body: Stored): Stored | Refused {
    const { name } = body.metadata;
    const refusal = this.#refusalOf(kind, namespace, name);
    if (refusal) return refusal;
    if (this.store.get(kind, namespace, name)) return alreadyExists(kind, name);
    if (kind === 'namespaces') return this.#createNamespace(body);
    const metadata = { ...body.metadata, ...(namespace !== undefined && { namespace }) };
    if (kind === 'pods') return this.#createPod({ ...body, metadata });
    if (kind === 'secrets') return this.#createSecret({ ...body, metadata });
    return this.store.create(kind, { ...body, kind: SINGULAR[kind] ?? kind, metadata });
  }

  delete(kind: string, namespace: string | undefined, name: string, uid: string | undefined): Stored | Refused {
    const object = this.store.get(kind, namespace, name);
    if (!object) return notFound(kind, name);
    if (uid !== undefined && uid !== object.metadata.uid) return otherUid(kind, name, uid, object.metadata.uid ?? '');
    if (object.metadata.deletionTimestamp !== undefined) return object;
    if (kind !== 'namespaces' && kind !== 'pods') {
      this.store.remove(kind, object);
      return object;
    }
    const deletionTimestamp = new Date(this.#options.clock.now()).toISOString();
    const status = kind === 'namespaces' ? { phase: 'Terminating' } : object['status'];
    const marked = this.store.update(kind, object, { metadata: { ...object.metadata, deletionTimestamp }, status });
    this.#after(this.#options.deleteMs, () => this.#finishDeletion(kind, marked));
    return marked;
  }

  /** Removes what holds an object that is being deleted. */
  dropFinalizers(kind: string, object: Stored): void {
    const { finalizers: _finalizers, ...metadata } = object.metadata;
    const changed = this.store.update(kind, object, { metadata: { ...metadata, finalizers: [] } });
    if (changed.metadata.deletionTimestamp !== undefined) this.#finishDeletion(kind, changed);
  }

  #refusalOf(kind: string, namespace: string | undefined, name: string): Refused | undefined {
    if (namespace === undefined) return undefined;
    const parent = this.store.get('namespaces', undefined, namespace);
    if (!parent) return notFound('namespaces', namespace);
    if (parent.metadata.deletionTimestamp !== undefined) return terminating(kind, name, namespace);
    if (kind !== 'pods') return undefined;
    if (!this.store.get('serviceaccounts', namespace, 'default')) return noAccount(name, namespace);
    if (this.#refusals.shift() !== undefined) return exceeded(name, 'quota', 2, 2);
    const [quota] = this.store.list('resourcequotas', namespace);
    const hard = Number((quota?.['spec'] as { hard?: { pods?: string } } | undefined)?.hard?.pods ?? Infinity);
    const used = this.store.list('pods', namespace).length;
    return used >= hard ? exceeded(name, quota?.metadata.name ?? '', used, hard) : undefined;
  }

  #createNamespace(body: Stored): Stored {
    const { name } = body.metadata;
    const created = this.store.create('namespaces', {
      ...{ apiVersion: 'v1', kind: 'Namespace', spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } },
      metadata: body.metadata,
    });
    this.#after(this.#options.accountMs, () => {
      if (this.store.get('namespaces', undefined, name)?.metadata.uid !== created.metadata.uid) return;
      this.store.create('serviceaccounts', { kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } });
    });
    return created;
  }

  #createPod(body: Stored): Stored {
    const fate = this.#fates.shift() ?? 'runs';
    const status = fate === 'unschedulable' ? UNSCHEDULABLE : { phase: 'Pending' };
    const created = this.store.create('pods', { apiVersion: 'v1', kind: 'Pod', ...body, status });
    this.#countPods(created.metadata.namespace ?? '');
    const next = NEXT_STATUS[fate];
    if (next) this.#after(this.#options.startMs, () => this.#changePod(created, next));
    return created;
  }

  /** The controller of tokens fills the secret of an account. */
  #createSecret(body: Stored): Stored {
    const created = this.store.create('secrets', { apiVersion: 'v1', kind: 'Secret', ...body });
    const account = created.metadata.annotations?.['kubernetes.io/service-account.name'];
    if (created['type'] !== 'kubernetes.io/service-account-token' || account === undefined) return created;
    this.#after(this.#options.accountMs, () => {
      const { namespace = '' } = created.metadata;
      if (!this.store.get('serviceaccounts', namespace, account)) return;
      const token = `secret-token-of-${namespace}-${account}`;
      this.store.update('secrets', created, { data: { token: Buffer.from(token).toString('base64') } });
    });
    return created;
  }

  #changePod(pod: Stored, status: Readonly<Record<string, unknown>>): void {
    const present = this.store.get('pods', pod.metadata.namespace, pod.metadata.name);
    if (present?.metadata.uid !== pod.metadata.uid || present?.metadata.deletionTimestamp !== undefined || !present)
      return;
    const spec = { ...(present['spec'] as object), nodeName: 'node-1' };
    this.store.update('pods', present, { spec, status });
  }

  #finishDeletion(kind: string, object: Stored): void {
    const { name, namespace } = object.metadata;
    const present = this.store.get(kind, namespace, name);
    if (!present || present.metadata.uid !== object.metadata.uid || (present.metadata.finalizers?.length ?? 0) > 0)
      return;
    if (kind === 'namespaces') {
      for (const inside of [
        'pods',
        'serviceaccounts',
        'secrets',
        'roles',
        'rolebindings',
        'resourcequotas',
        'limitranges',
      ]) {
        for (const one of this.store.list(inside, name)) this.store.remove(inside, one);
      }
    }
    this.store.remove(kind, present);
    this.#collectGarbage(present);
    if (namespace !== undefined) this.#countPods(namespace);
  }

  /** The controller of garbage deletes the secrets of an object that is gone. */
  #collectGarbage({ metadata: { namespace, uid } }: Stored): void {
    for (const secret of this.store.list('secrets', namespace)) {
      const isOwned = secret.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;
      if (isOwned) this.store.remove('secrets', secret);
    }
  }

  #countPods(namespace: string): void {
    for (const quota of this.store.list('resourcequotas', namespace)) {
      const { hard } = quota['spec'] as { hard: object };
      const used = { pods: String(this.store.list('pods', namespace).length) };
      this.store.update('resourcequotas', quota, { status: { hard, used } });
    }
  }

  #after(ms: number, what: () => void): void {
    if (ms === 0) what();
    else this.#options.clock.setTimer(ms, what);
  }
}

const SINGULAR: Readonly<Record<string, string>> = {
  ...{ serviceaccounts: 'ServiceAccount', roles: 'Role', rolebindings: 'RoleBinding' },
};

const UNSCHEDULABLE = {
  phase: 'Pending',
  conditions: [
    {
      ...{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' },
      message: '0/3 nodes are available: 3 Insufficient cpu.',
    },
  ],
};

const NEXT_STATUS: Readonly<Partial<Record<PodFate, Readonly<Record<string, unknown>>>>> = {
  runs: { phase: 'Running', podIP: '10.0.0.1' },
  fails: {
    phase: 'Failed',
    reason: 'DeadlineExceeded',
    message: 'Pod was active on the node longer than its deadline',
  },
  unpullable: {
    phase: 'Pending',
    containerStatuses: [
      {
        ...{ name: 'a', image: 'x', imageID: '', ready: false, restartCount: 0 },
        state: { waiting: { reason: 'ErrImagePull', message: 'failed to pull image "x": not found' } },
      },
    ],
  },
};
