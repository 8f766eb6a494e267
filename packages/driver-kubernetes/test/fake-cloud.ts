import { NODE_ID_TAG, type Clock, type Resources } from '@nodepool/core';
import { CallTracker, VirtualClock, type CloudFailureKind, type MachineEnd } from '@nodepool/core/testing';
import { FAKE_TOKEN, FakeKubernetes } from '@nodepool/kubernetes';
import type { DriverName } from '../src/config.js';
import type { Login } from '../src/credentials.js';
import { createHttp, type ApiWatchEvent, type Http, type HttpCall } from '../src/index.js';
import { tagsOf } from '../src/ownership.js';

/** Small, so that a few nodes need several pages. */
export const PAGE_SIZE = 4;
/** Pods that the shared namespace may have. */
export const POD_QUOTA = 20;

/** Credentials of the fake cluster. */
export function loginOf(server: string, token = FAKE_TOKEN): Login {
  const cluster = {
    ...{ context: 'fake', server, ca: undefined, skipTls: true, tlsServerName: undefined, proxyUrl: undefined },
    user: { token },
  };
  return { cluster, token, headers: { authorization: `Bearer ${token}` }, certificate: undefined, key: undefined };
}

/** Calls to a fake cluster; time stands still while an answer or an event is on its way. */
export function trackedHttp(server: string, clock: Clock, traffic: Traffic): Http {
  const credentials = { get: () => Promise.resolve(loginOf(server)), forget: () => undefined };
  const http = createHttp({ credentials, clock });
  return {
    login: () => http.login(),
    get refusal() {
      return http.refusal;
    },
    call: <T>(call: HttpCall, signal: AbortSignal) => traffic.calls.track(http.call<T>(call, signal)),
    watch: <T>(call: HttpCall, signal: AbortSignal) => traffic.follow<T>(http, call, signal),
    close: () => http.close(),
  };
}

/** What is on its way between driver and cluster. */
export class Traffic {
  readonly calls = new CallTracker();
  readonly #sent = new Map<string, (() => void)[]>();
  #watches = 0;

  /** The cluster sends an event of a watch. */
  sent(watchId: string): void {
    const events = this.#sent.get(watchId);
    if (!events) return;
    void this.calls.track(new Promise<void>((resolve) => events.push(resolve)));
  }

  /** Follows a watch from its call until its last event is read. */
  async *follow<T>(http: Http, call: HttpCall, signal: AbortSignal): AsyncGenerator<ApiWatchEvent<T>, void> {
    const watchId = String(++this.#watches);
    const events: (() => void)[] = [];
    this.#sent.set(watchId, events);
    // until the first event, which the cluster sends when it accepts the watch
    let opened: () => void = () => undefined;
    void this.calls.track(new Promise<void>((resolve) => (opened = resolve)));
    try {
      for await (const event of http.watch<T>({ ...call, query: { ...call.query, watchId } }, signal)) {
        opened();
        yield event;
        events.shift()?.();
      }
    } finally {
      opened();
      this.#sent.delete(watchId);
      for (const resolve of events) resolve();
    }
  }
}

/** A fake cluster as the driver kit wants it. */
export async function fakeCloud(kind: DriverName, traffic: Traffic) {
  const clock = new VirtualClock({ idle: () => traffic.calls.idle() });
  const fake = await FakeKubernetes.start({
    ...{ clock, startMs: 3_000, deleteMs: 2_000, accountMs: kind === 'openshiftpods' ? 0 : 300, pageSize: PAGE_SIZE },
    onWatchEvent: (watchId) => traffic.sent(watchId),
  });
  const { cluster } = fake;
  if (kind === 'openshiftpods') {
    cluster.create('namespaces', undefined, { metadata: { name: 'main' } });
    cluster.setQuota('main', POD_QUOTA);
  }
  return {
    ...{ clock, fake, pageSize: PAGE_SIZE },
    advance: (ms: number) => clock.advance(ms),
    list: () => (kind === 'openshiftpods' ? podsOf(fake) : namespacesOf(fake)),
    failNext: (failure: CloudFailureKind) => FAILURES[failure]?.(fake),
    endMachine: (id: string, how: MachineEnd) => endMachine(fake, id, how),
    // names are chosen, and stored, before anything is made
    impossible: ['late-listing'] as const,
    limits: (kind === 'openshiftpods' ? { instances: POD_QUOTA } : {}) as Resources,
    stop: () => fake.stop(),
  };
}

/** `stopped`: a pod is evicted; a namespace without a pod cannot stop. `deleted`: only the pod is, where there is one. */
function endMachine({ cluster }: FakeKubernetes, id: string, how: MachineEnd): boolean {
  const { store } = cluster;
  const pod = store
    .list('pods')
    .find(({ metadata: { name, namespace = '' } }) => [namespace, `${namespace}-${name}`].includes(id));
  const space = store.get('namespaces', undefined, id);
  if (how === 'stopped' && pod) store.update('pods', pod, { status: { phase: 'Failed', reason: 'Evicted' } });
  else if (how === 'deleted' && pod) cluster.delete('pods', pod.metadata.namespace, pod.metadata.name, undefined);
  else if (how === 'deleted' && space) cluster.delete('namespaces', undefined, id, undefined);
  else return false;
  return true;
}

const FAILURES: Readonly<Partial<Record<CloudFailureKind, (fake: FakeKubernetes) => void>>> = {
  quota: ({ cluster }) => cluster.nextPod('refused'),
  capacity: ({ cluster }) => cluster.nextPod('unschedulable'),
  unavailable: (fake) => fake.failUnanswered(),
  'error-state': ({ cluster }) => cluster.nextPod('fails'),
  'never-ready': ({ cluster }) => cluster.nextPod('pends'),
  'lost-reply': (fake) => fake.loseReply(),
};

function namespacesOf({ cluster: { store } }: FakeKubernetes) {
  const own = store.list('namespaces').filter(({ metadata }) => NODE_ID_TAG in tagsOf(metadata));
  return own.map(({ metadata }) => {
    const [pod] = store.list('pods', metadata.name);
    const isRunning = !pod || (pod['status'] as { phase: string }).phase === 'Running';
    return { id: metadata.name, isReady: isRunning && metadata.deletionTimestamp === undefined };
  });
}

function podsOf({ cluster: { store } }: FakeKubernetes) {
  return store.list('pods', 'main').map(({ metadata, status }) => {
    const isRunning = (status as { phase: string }).phase === 'Running';
    return { id: `main-${metadata.name}`, isReady: isRunning && metadata.deletionTimestamp === undefined };
  });
}
