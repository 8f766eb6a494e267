import { isNodepoolError, type Clock, type FoundCondition } from '@nodepool/core';
import type { ApiRule } from './api.js';
import type { KubernetesProviderConfig } from './config.js';
import { ForbiddenError } from './errors.js';
import { PROJECT_GROUP as PROJECT } from './spaces.js';
import { allowsSome, nameOf, type Right } from './rules.js';

/** A right that the launcher uses, and what its absence costs. */
export interface WantedRight extends Right {
  readonly cost: string;
}

const RBAC = 'rbac.authorization.k8s.io';
const LATER = 'changes are seen some seconds later';
const NO_LAUNCH = 'its nodes cannot be launched';

/** All rights that are ever used, by their names. What costs no launch only helps. */
const COSTS: Readonly<Record<string, string>> = {
  'list resourcequotas': 'quotas are not known: a pod that exceeds one is refused, and its request waits',
  'list limitranges': 'defaults and ceilings are not known: a pod that exceeds one is refused when it is made',
  'watch namespaces': LATER,
  'watch pods': LATER,
  [`watch projects.${PROJECT}`]: LATER,
  'get namespaces': 'each look at a node is a list',
  'create serviceaccounts/token': 'nodes get the token of a secret, which has no end',
  'create selfsubjectrulesreviews.authorization.k8s.io': 'what else is missing shows only when it is needed',
};

/** What the launcher may do in a cluster, as far as calls and reviews have shown. */
export class Rights {
  readonly #clock: Pick<Clock, 'now'>;
  /** Missing ones by their names. */
  readonly #missing = new Map<
    string,
    { readonly cost: string; readonly sinceMs: number; readonly lastSeenMs: number }
  >();
  /** What roles of nodes lack, as the launcher may not give it, by their names. */
  readonly #narrow = new Map<string, string>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The answer of a call that only helps; what counts as its answer where the right for it is missing. */
  async help<T>(call: Promise<T>, right: Right, otherwise: () => T | Promise<T>): Promise<T> {
    try {
      const answer = await call;
      this.allowed(right);
      return answer;
    } catch (error) {
      if (!this.refused(error)) throw error;
      return otherwise();
    }
  }

  /** Notes a refusal. @returns whether the error is the refusal of what only helps */
  refused(error: unknown): boolean {
    if (!(error instanceof ForbiddenError)) return false;
    const cost = COSTS[nameOf(error.right)];
    if (cost === undefined) return false;
    this.lacks({ ...error.right, cost });
    return true;
  }

  /** Notes a right that is there. */
  allowed(right: Right): void {
    this.#missing.delete(nameOf(right));
  }

  /** Notes a missing right. */
  lacks(right: WantedRight): void {
    const nowMs = this.#clock.now();
    const sinceMs = this.#missing.get(nameOf(right))?.sinceMs ?? nowMs;
    this.#missing.set(nameOf(right), { cost: right.cost, sinceMs, lastSeenMs: nowMs });
  }

  /** Whether a right is known to be missing. */
  isMissing(right: Right): boolean {
    return this.#missing.has(nameOf(right));
  }

  /** Notes what a role of nodes lacks; empty: nothing. @returns whether that is news */
  narrow(role: string, lost: readonly string[]): boolean {
    const known = this.#narrow.get(role);
    const text = lost.length > 0 ? `role "${role}" of nodes has no ${lost.join('; ')}` : undefined;
    if (text === undefined) this.#narrow.delete(role);
    else this.#narrow.set(role, text);
    if (this.#narrow.size === 0) this.allowed(GIVE);
    else this.lacks({ ...GIVE, cost: [...this.#narrow.values()].join('; ') });
    return text !== known;
  }

  /** One condition with everything that is missing. */
  condition(provider: string): FoundCondition | undefined {
    const found = [...this.#missing].sort(([one], [other]) => (one < other ? -1 : 1));
    if (found.length === 0) return undefined;
    return {
      ...{ kind: 'provider', name: provider, type: 'RightsMissing', severity: 'warning', reason: 'Forbidden' },
      message: `the account of the launcher may not ${found.map(([name, { cost }]) => `${name} (${cost})`).join(', ')}`,
      nextStep: 'allow these verbs, or leave it as it is: see the permissions in docs/kubernetes.md',
      evidence: { verbs: found.map(([name]) => name).join(', ') },
      sinceMs: Math.min(...found.map(([, { sinceMs }]) => sinceMs)),
      lastSeenMs: Math.max(...found.map(([, { lastSeenMs }]) => lastSeenMs)),
    };
  }

  /** Asks the cluster for all rights that a provider uses. */
  async review(
    config: RightsConfig,
    ask: (namespace: string) => Promise<readonly ApiRule[] | undefined>,
  ): Promise<void> {
    const wanted = wantedRights(config);
    const missing = await missingRights(config, ask);
    if (!missing) return;
    for (const right of wanted) {
      if (missing.includes(right)) this.lacks(right);
      else this.allowed(right);
    }
  }
}

/** To give others what one has not. */
const GIVE: Right = { verb: 'escalate', group: RBAC, resource: 'roles' };

type RightsConfig = Pick<KubernetesProviderConfig, 'pools' | 'ownNamespaces' | 'projects' | 'tokenExpiryS'>;

const known = new WeakMap<RightsConfig, readonly WantedRight[]>();

/** The rights that a provider uses. */
export function wantedRights(config: RightsConfig): readonly WantedRight[] {
  const there =
    known.get(config) ?? [...ofProvider(config)].map(([name, right]) => ({ ...right, cost: COSTS[name] ?? NO_LAUNCH }));
  known.set(config, there);
  return there;
}

function ofProvider({ pools, ownNamespaces, projects, tokenExpiryS }: RightsConfig): Map<string, Right> {
  const labels = [...pools.values()].flatMap((pool) => [...pool.labels.values()]);
  const hasPods = labels.some(({ type }) => type === 'pod');
  const hasAccounts = ownNamespaces || [...pools.values()].some(({ serviceAccount }) => serviceAccount !== undefined);
  const rights = [
    // what a project allows is known when there is one
    ...(projects ? some(PROJECT, 'projectrequests', 'create') : []),
    ...(ownNamespaces && !projects
      ? [
          ...some('', 'namespaces', 'create', 'delete', 'get', 'list', 'watch'),
          ...some('', 'serviceaccounts', 'create'),
          ...some(RBAC, 'rolebindings', 'create'),
          ...(labels.some(({ clusterRole }) => clusterRole === undefined) ? some(RBAC, 'roles', 'create') : []),
          ...(hasPods ? some('', 'pods', 'create', 'get', 'list', 'watch') : []),
        ]
      : []),
    ...(ownNamespaces
      ? []
      : [
          ...some('', 'pods', 'create', 'delete', 'get', 'list', 'watch'),
          ...some('', 'resourcequotas', 'list'),
          ...some('', 'limitranges', 'list'),
        ]),
    ...(hasAccounts && !projects
      ? some('', tokenExpiryS === 0 && ownNamespaces ? 'secrets' : 'serviceaccounts/token', 'create')
      : []),
  ];
  return new Map(rights.map((right) => [nameOf(right), right]));
}

function some(group: string, resource: string, ...verbs: readonly string[]): Right[] {
  return verbs.map((verb) => ({ verb, group, resource }));
}

/**
 * The rights of a provider that its account has not.
 * @param ask - the rules in a namespace; `undefined`: not all are known
 * @returns `undefined` if the cluster does not say
 */
export async function missingRights(
  config: RightsConfig,
  ask: (namespace: string) => Promise<readonly ApiRule[] | undefined>,
): Promise<readonly WantedRight[] | undefined> {
  const namespaces = config.ownNamespaces ? ['default'] : [...config.pools.keys()];
  const answers = await Promise.all(namespaces.map(ask));
  const rules = answers.filter((one) => one !== undefined);
  if (rules.length < answers.length) return undefined;
  return wantedRights(config).filter((right) => !rules.every((one) => allowsSome(one, right)));
}

/** An answer that is no answer, as from a proxy, must not hinder. */
export function unlessOut(error: unknown): undefined {
  if (isNodepoolError(error)) return undefined;
  throw error;
}
