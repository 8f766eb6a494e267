import { setTimeout as pause } from 'node:timers/promises';
import { nameOf, type ApiAccess, type Body } from './api.js';

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly nodeSelector?: object;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status: { readonly phase: string };
}

const NODE = 'stand-in';

/**
 * Replaces scheduler and kubelet: binds pods to a node that does not exist, marks them as running, and confirms their
 * deletion. It runs no containers. Images named `missing` cannot be pulled, images named `broken` end at once, and pods with a node
 * selector find no node; the messages are those of Kubernetes.
 */
export class StandInKubelet {
  readonly #api: ApiAccess;
  readonly #end = new AbortController();
  readonly #work = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  /** Whether pods are started. Deletions are confirmed in any case. */
  isStarting = true;

  private constructor(api: ApiAccess) {
    this.#api = api;
  }

  static async start(api: ApiAccess): Promise<StandInKubelet> {
    await api.call('POST', 'api/v1/nodes', { metadata: { name: NODE } });
    const kubelet = new StandInKubelet(api);
    kubelet.#running = kubelet.#run();
    return kubelet;
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
    await Promise.allSettled([...this.#work]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        const { items, metadata } = (await this.#api.must('GET', 'api/v1/pods')) as { items: Pod[]; metadata: Body };
        for (const pod of items) this.#handle(pod);
        const version = String(metadata['resourceVersion']);
        for await (const { type, object } of this.#api.watch(
          `api/v1/pods?watch=1&resourceVersion=${version}`,
          signal,
        )) {
          if (type === 'ADDED' || type === 'MODIFIED') this.#handle(object as unknown as Pod);
        }
      } catch {
        await pause(200); // the API server is away
      }
    }
  }

  #handle(pod: Pod): void {
    const work = this.#next(pod).catch(() => undefined); // it was deleted meanwhile, or the API server is away
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  async #next(pod: Pod): Promise<void> {
    const { name, namespace, deletionTimestamp } = pod.metadata;
    const path = `api/v1/namespaces/${namespace}/pods/${name}`;
    if (deletionTimestamp !== undefined) {
      await this.#api.call('DELETE', path, { gracePeriodSeconds: 0 });
    } else if (!this.isStarting || pod.status.phase !== 'Pending') {
      return;
    } else if (pod.spec.nodeSelector) {
      if (!('conditions' in pod.status)) await this.#status(path, { conditions: [UNSCHEDULABLE] });
    } else if (pod.spec.nodeName === undefined) {
      const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
      await this.#api.call('POST', `${path}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target,
      });
    } else if (!('containerStatuses' in pod.status)) {
      await this.#status(path, statusOf(pod));
    }
  }

  async #status(path: string, status: Body): Promise<void> {
    await this.#api.call('PATCH', `${path}/status`, { status });
  }
}

const UNSCHEDULABLE = {
  ...{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' },
  message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity.",
};

function statusOf({ spec: { containers } }: Pod): Body {
  const images = containers.map(({ image }) => image);
  const common = { ready: false, restartCount: 0, imageID: '' };
  const all = (state: Body) => containers.map(({ name, image }) => ({ ...common, name, image, state }));
  if (images.some((image) => image.includes('missing'))) {
    const message = `rpc error: code = NotFound desc = failed to pull and unpack image "${images.join()}": not found`;
    return { containerStatuses: all({ waiting: { reason: 'ErrImagePull', message } }) };
  }
  if (images.some((image) => image.includes('broken'))) {
    return { phase: 'Failed', containerStatuses: all({ terminated: { reason: 'StartError', exitCode: 128 } }) };
  }
  return { phase: 'Running', podIP: '10.0.0.1', containerStatuses: all({ running: {} }) };
}

/** Names of all objects of a kind, for counts before and after a test. */
export async function namesOf(api: ApiAccess, path: string): Promise<string[]> {
  return (await api.list(path)).map(nameOf).sort();
}
