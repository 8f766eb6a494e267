import type { Clock, FoundCondition } from '@nodepool/core';
import { steadyNow } from '@nodepool/zk-protocol';
import type { RefusedLogin } from './http.js';
import type { KubernetesInstance } from './instance.js';
import type { EndingLogin } from './login-ends.js';
import type { PodProblem } from './pod-state.js';
import type { WatchFailure } from './watcher.js';

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
    const provider = { kind: 'provider', name: this.#provider } as const;
    return [
      ...(refusal ? [refused(this.#provider, refusal)] : []),
      ...(ending ? [{ ...provider, type: 'LoginEnds', severity: 'warning', evidence: {}, ...ending } as const] : []),
      ...this.#podConditions(),
      ...failures.slice(0, 1).map(({ error, sinceMs, lastSeenMs }): FoundCondition => ({
        ...{ ...provider, type: 'WatchFails', severity: 'warning', reason: 'WatchFails', message: error.message },
        nextStep: 'check the API server, and verbs "list" and "watch" in docs/kubernetes.md',
        ...{ evidence: {}, sinceMs, lastSeenMs },
      })),
      ...this.#deletionConditions(),
      ...(this.#token
        ? [
            {
              ...({ ...provider, type: 'TokensShortened', severity: 'warning', reason: 'Shortened' } as const),
              message: this.#token.what,
              nextStep: 'lower token-expiry, or raise --service-account-max-token-expiration of the API server',
              ...{ evidence: {}, sinceMs: this.#token.sinceMs, lastSeenMs: this.#token.lastSeenMs },
            },
          ]
        : []),
    ];
  }

  #podConditions(): FoundCondition[] {
    return this.#current(this.#pods).map(([name, { what, sinceMs, lastSeenMs }]) => ({
      ...{ kind: 'label', name: `${this.#provider}/${name}`, type: 'PodsNotStarting', severity: 'warning' },
      reason: classOf(what.reason),
      message: `${what.reason}: ${what.message}`,
      nextStep: 'correct what the message names; kubectl describe pod shows more while a launch waits',
      evidence: { reason: what.reason },
      ...{ sinceMs, lastSeenMs },
    }));
  }

  #deletionConditions(): FoundCondition[] {
    const hanging = this.#current(this.#deletions);
    if (hanging.length === 0) return [];
    return [
      {
        ...{ kind: 'provider', name: this.#provider, type: 'DeletionsHang', severity: 'warning' },
        reason: 'Finalizers',
        message: hanging.map(([id, { what }]) => `"${id}" is not gone: ${what}`).join('; '),
        nextStep: hanging.some(([, { what }]) => what.startsWith(DISCOVERY))
          ? `${STUCK_API}; repair or delete the APIService that is not available`
          : 'repair the controllers of these finalizers; kubectl get namespace NAME -o yaml shows them',
        evidence: { count: hanging.length },
        sinceMs: Math.min(...hanging.map(([, { sinceMs }]) => sinceMs)),
        lastSeenMs: Math.max(...hanging.map(([, { lastSeenMs }]) => lastSeenMs)),
      },
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
