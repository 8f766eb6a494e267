import { newCondition, type Clock, type FoundCondition } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';
import type { RefusedLogin } from './http.js';
import type { KubernetesInstance } from './instance.js';
import type { EndingLogin } from './login-ends.js';
import type { PodProblem } from './pod-state.js';
import type { WatchFailure } from './watcher.js';

/** Conditions of clusters. */
export const CONDITIONS = {
  LoginEnds: {
    kind: 'provider',
    severity: 'warning',
    meaning:
      'a program of a kubeconfig file has printed credentials that have ended, or end within a minute, for more than a minute; it runs every few seconds',
    reasons: {
      Expired: 'they have ended; the message has the program',
      Short: 'they end within a minute; the message has the program',
    },
    nextStep: 'log in again with the program, or let it print credentials that are valid for several minutes',
  },
  WatchFails: {
    kind: 'provider',
    severity: 'warning',
    meaning: 'changes in a cluster do not arrive; nodes are checked one by one until they do',
    reasons: { WatchFails: 'the message has the error of the API server' },
    nextStep: 'check the API server, and whether the launcher may list and watch',
  },
  DeletionsHang: {
    kind: 'provider',
    severity: 'warning',
    meaning: 'deleted namespaces or pods of a provider are not gone after a minute',
    reasons: { Finalizers: 'the message names what holds them' },
    nextStep: 'repair the controllers of these finalizers',
  },
  TokensShortened: {
    kind: 'provider',
    severity: 'warning',
    meaning: 'a cluster gives tokens for a shorter time than asked for, so jobs may outlive them',
    reasons: { Shortened: 'the message has both times' },
    nextStep: 'lower token-expiry, or let the API server give longer ones',
  },
  PodsNotStarting: {
    kind: 'label',
    severity: 'warning',
    meaning:
      'pods of a label do not start in one pool, as last seen in the last ten minutes; the name is `PROVIDER/POOL/LABEL`',
    reasons: {
      Unschedulable: 'no node of the cluster can take them',
      Image: 'the image cannot be pulled',
      Container: 'the container does not start, or ends',
    },
    nextStep: 'correct what the message names',
  },
} as const;

/** What is wrong with the login. */
export interface LoginState {
  readonly refusal?: RefusedLogin | undefined;
  readonly ending?: EndingLogin | undefined;
}

interface Seen<T> {
  readonly what: T;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
  /** When it was last seen, in steady time. */
  readonly steadyMs: number;
}

/** A problem that nothing shows any more is forgotten after this time. */
const FORGOTTEN_MS = 600_000;

/** An aggregated API does not answer, so the cluster cannot tell what else is in a namespace, and deletes none. */
const DISCOVERY = 'NamespaceDeletionDiscoveryFailure';
const STUCK_API = 'kubectl get apiservices';

/** What is wrong in a cluster now, as conditions of the provider and its labels. */
export class Troubles {
  readonly #provider: string;
  readonly #clock: Pick<Clock, 'now' | 'steadyNow'>;
  readonly #pods = new Map<string, Seen<PodProblem>>();
  readonly #deletions = new Map<string, Seen<string>>();
  #token: Seen<string> | undefined;

  constructor(provider: string, clock: Pick<Clock, 'now' | 'steadyNow'>) {
    this.#provider = provider;
    this.#clock = clock;
  }

  /** Notes why a pod of the label does not start; `undefined`: one runs. */
  pod(pool: string, label: string, problem: PodProblem | undefined): void {
    this.#note(this.#pods, `${pool}/${label}`, problem);
  }

  /** Notes an instance whose deletion hangs; `undefined`: it is gone. */
  deletion(externalId: string, instance: KubernetesInstance | undefined): void {
    this.#note(this.#deletions, externalId, instance && whyHanging(instance));
  }

  /** Notes that the cluster gives tokens for a shorter time than asked for. */
  token(message: string | undefined): void {
    this.#token = message === undefined ? undefined : this.#seen(message, undefined);
  }

  /** All conditions. */
  conditions({ refusal, ending }: LoginState, failures: readonly WatchFailure[]): FoundCondition[] {
    const name = this.#provider;
    return [
      ...(refusal ? [refused(name, refusal)] : []),
      ...(ending ? [newCondition(CONDITIONS, 'LoginEnds', { name, ...ending })] : []),
      ...this.#podConditions(),
      ...failures.slice(0, 1).map(({ error, sinceMs, lastSeenMs }) =>
        newCondition(CONDITIONS, 'WatchFails', {
          ...{ name, reason: 'WatchFails', message: error.message, sinceMs, lastSeenMs },
          nextStep: 'check the API server, and verbs "list" and "watch" in docs/kubernetes.md',
        }),
      ),
      ...this.#deletionConditions(),
      ...(this.#token ? [this.#shortened(this.#token)] : []),
    ];
  }

  #shortened({ what: message, sinceMs, lastSeenMs }: Seen<string>): FoundCondition {
    return newCondition(CONDITIONS, 'TokensShortened', {
      ...{ name: this.#provider, reason: 'Shortened', message, sinceMs, lastSeenMs },
      nextStep: 'lower token-expiry, or raise --service-account-max-token-expiration of the API server',
    });
  }

  #podConditions(): FoundCondition[] {
    return this.#current(this.#pods).map(([name, { what, sinceMs, lastSeenMs }]) =>
      newCondition(CONDITIONS, 'PodsNotStarting', {
        ...{ name: `${this.#provider}/${name}`, reason: classOf(what.reason), sinceMs, lastSeenMs },
        message: `${what.reason}: ${what.message}`,
        nextStep: 'correct what the message names; kubectl describe pod shows more while a launch waits',
        evidence: { reason: what.reason },
      }),
    );
  }

  #deletionConditions(): FoundCondition[] {
    const hanging = this.#current(this.#deletions);
    if (hanging.length === 0) return [];
    return [
      newCondition(CONDITIONS, 'DeletionsHang', {
        ...{ name: this.#provider, reason: 'Finalizers' },
        message: hanging.map(([id, { what }]) => `"${id}" is not gone: ${what}`).join('; '),
        nextStep: hanging.some(([, { what }]) => what.startsWith(DISCOVERY))
          ? `${STUCK_API}; repair or delete the APIService that is not available`
          : 'repair the controllers of these finalizers; kubectl get namespace NAME -o yaml shows them',
        evidence: { count: hanging.length },
        sinceMs: Math.min(...hanging.map(([, { sinceMs }]) => sinceMs)),
        lastSeenMs: Math.max(...hanging.map(([, { lastSeenMs }]) => lastSeenMs)),
      }),
    ];
  }

  #note<T>(into: Map<string, Seen<T>>, key: string, what: T | undefined): void {
    if (what === undefined) into.delete(key);
    else into.set(key, this.#seen(what, into.get(key)));
  }

  #seen<T>(what: T, before: Seen<T> | undefined): Seen<T> {
    const nowMs = this.#clock.now();
    return { what, sinceMs: before?.sinceMs ?? nowMs, lastSeenMs: nowMs, steadyMs: steadyNow(this.#clock) };
  }

  #current<T>(from: Map<string, Seen<T>>): [string, Seen<T>][] {
    const oldestMs = steadyNow(this.#clock) - FORGOTTEN_MS;
    for (const [key, { steadyMs }] of from) if (steadyMs < oldestMs) from.delete(key);
    return [...from];
  }
}

/** Reasons by class, for programs. */
function classOf(reason: string): string {
  if (reason === 'Unschedulable') return 'Unschedulable';
  return /Image|Pull|Registry/.test(reason) ? 'Image' : 'Container';
}

/** What holds an object that is being deleted, in the words of the cluster. */
function whyHanging({ namespace, pod }: KubernetesInstance): string {
  const reasons = (namespace?.status?.conditions ?? [])
    .filter(({ type, status }) => status === 'True' && /Remaining|Failure/.test(type))
    .sort((a, b) => Number(b.type === DISCOVERY) - Number(a.type === DISCOVERY))
    .map(({ type, message }) =>
      type === DISCOVERY ? `${DISCOVERY} (${STUCK_API}): ${message ?? ''}` : (message ?? ''),
    );
  const finalizers = [...(namespace?.metadata.finalizers ?? []), ...(pod?.metadata.finalizers ?? [])];
  if (finalizers.length > 0) reasons.push(`finalizers ${finalizers.join(', ')}`);
  return reasons.filter(Boolean).join(' ') || 'the cluster gives no reason';
}

function refused(name: string, { reason, message, sinceMs, lastSeenMs }: RefusedLogin): FoundCondition {
  return {
    ...{ kind: 'provider', name, type: 'LoginRefused', severity: 'error', reason, message },
    nextStep: 'correct the credentials of the context in the kubeconfig file',
    ...{ evidence: {}, sinceMs, lastSeenMs },
  };
}
