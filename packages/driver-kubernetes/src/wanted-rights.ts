import type { JsonObject } from '@nodepool/core';
import { roleRules } from './access.js';
import type { ApiRule } from './api.js';
import type { KubernetesProviderConfig } from './config.js';
import { allows, allowsSome, nameOf, narrowed, type Right } from './rules.js';
import { PROJECT_GROUP as PROJECT } from './spaces.js';

/** A right that the launcher uses, and what its absence costs. */
export interface WantedRight extends Right {
  readonly cost: string;
}

const RBAC = 'rbac.authorization.k8s.io';
const LATER = 'changes are seen some seconds later';
const NO_START = 'the provider does not start';

/** What only helps, by its name, and what its absence costs. */
export const HELPING: Readonly<Record<string, string>> = {
  'list resourcequotas': 'quotas are not known: a pod that exceeds one is refused, and its request waits',
  'list limitranges': 'defaults and ceilings are not known: a pod that exceeds one is refused when it is made',
  'watch namespaces': LATER,
  'watch pods': LATER,
  [`watch projects.${PROJECT}`]: LATER,
  'get namespaces': 'each look at a node is a list',
  'create serviceaccounts/token': 'nodes get the token of a secret, which has no end',
  'create selfsubjectrulesreviews.authorization.k8s.io': 'what else is missing shows only when it is needed',
};

/** What is needed, and costs something else than the launch of nodes. */
const NEEDED: Readonly<Record<string, string>> = {
  'list namespaces': NO_START,
  'list pods': NO_START,
  [`list projects.${PROJECT}`]: NO_START,
  'delete namespaces': 'its nodes cannot be deleted',
  'delete pods': 'its nodes cannot be deleted',
};
const NO_LAUNCH = 'its nodes cannot be launched';

/** To give others what one has not. */
export const GIVE: Right = { verb: 'escalate', group: RBAC, resource: 'roles' };
/** To make tokens that end. */
export const TOKENS: Right = { verb: 'create', group: '', resource: 'serviceaccounts/token' };
/** What the token of a secret takes. */
const SECRETS = some('', 'secrets', 'create', 'get');

/** The keys of a provider that decide which rights it uses. */
export type RightsConfig = Pick<KubernetesProviderConfig, 'pools' | 'ownNamespaces' | 'projects' | 'tokenExpiryS'>;

/** What an account has of the rights of a provider. */
export interface ReviewedRights {
  /** Held, or not needed. */
  readonly fine: readonly Right[];
  readonly missing: readonly WantedRight[];
  /** What the roles of nodes would lack, by their names. */
  readonly narrow: ReadonlyMap<string, readonly string[]>;
}

/**
 * Compares the rules of an account with the rights that a provider uses, all at once.
 * @param ask - the rules in a namespace; `undefined`: not all are known
 * @returns `undefined` if the cluster does not say
 */
export async function reviewRights(
  config: RightsConfig,
  ask: (namespace: string) => Promise<readonly ApiRule[] | undefined>,
): Promise<ReviewedRights | undefined> {
  const namespaces = config.ownNamespaces ? ['default'] : [...config.pools.keys()];
  const answers = await Promise.all(namespaces.map(ask));
  const rules = answers.filter((one) => one !== undefined);
  if (rules.length < answers.length) return undefined;
  const holds = (right: Right) => rules.every((one) => allowsSome(one, right));
  const wanted = wantedRights(config);
  const needed = wanted.includes(TOKENS) && !holds(TOKENS) ? [...wanted, ...SECRETS] : wanted;
  const missing = needed.filter((right) => !holds(right));
  return {
    fine: [...wanted, ...SECRETS].filter((right) => !missing.includes(right)),
    missing: missing.map((right) => ({ ...right, cost: costOf(nameOf(right)) })),
    narrow: new Map(
      rolesOf(config).map(({ name, rules: given }) => [
        name,
        rules.every((one) => allows(one, GIVE)) ? [] : rules.flatMap((one) => narrowed(given, one).lost),
      ]),
    ),
  };
}

/** What the roles of nodes lack, for people; empty: nothing. */
export function narrowText(roles: ReadonlyMap<string, readonly string[]>): string {
  const narrow = [...roles].filter(([, lost]) => lost.length > 0);
  return narrow.map(([name, lost]) => `role "${name}" of nodes has no ${lost.join('; ')}`).join('; ');
}

function costOf(name: string): string {
  return HELPING[name] ?? NEEDED[name] ?? NO_LAUNCH;
}

/** The roles that are made with nodes. Those of projects are there. */
function rolesOf({ pools, ownNamespaces, projects }: RightsConfig): { name: string; rules: JsonObject[] }[] {
  const labels = ownNamespaces && !projects ? [...pools.values()].flatMap((pool) => [...pool.labels.values()]) : [];
  const own = labels.filter(({ clusterRole }) => clusterRole === undefined);
  return [...new Set(own.map(({ type }) => type === 'pod'))].map(roleRules);
}

/** The rights that a provider uses. What a project allows is known when there is one. */
function wantedRights({ pools, ownNamespaces, projects, tokenExpiryS }: RightsConfig): readonly Right[] {
  const labels = [...pools.values()].flatMap((pool) => [...pool.labels.values()]);
  if (projects) return [...some(PROJECT, 'projectrequests', 'create'), ...some(PROJECT, 'projects', 'list', 'watch')];
  if (!ownNamespaces) {
    const hasAccounts = [...pools.values()].some(({ serviceAccount }) => serviceAccount !== undefined);
    return [
      ...some('', 'pods', 'create', 'delete', 'get', 'list', 'watch'),
      ...some('', 'resourcequotas', 'list'),
      ...some('', 'limitranges', 'list'),
      ...(hasAccounts ? [TOKENS] : []),
    ];
  }
  return [
    ...some('', 'namespaces', 'create', 'delete', 'get', 'list', 'watch'),
    ...some('', 'serviceaccounts', 'create'),
    ...some(RBAC, 'rolebindings', 'create'),
    ...(labels.some(({ clusterRole }) => clusterRole === undefined) ? some(RBAC, 'roles', 'create') : []),
    ...(labels.some(({ type }) => type === 'pod') ? some('', 'pods', 'create', 'get', 'list', 'watch') : []),
    ...(tokenExpiryS === 0 ? SECRETS : [TOKENS]),
  ];
}

function some(group: string, resource: string, ...verbs: readonly string[]): Right[] {
  return verbs.map((verb) => ({ verb, group, resource }));
}
