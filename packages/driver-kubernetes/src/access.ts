import type { JsonObject } from '@nodepool/core';
import type { ApiMeta } from './api.js';
import { marksOf, tagsOf } from './ownership.js';

/** Name of the service account of a node, as in the original. */
export const ACCOUNT = 'zuul-worker';
const RBAC = 'rbac.authorization.k8s.io';
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

/** What a node's own namespace gets besides a pod. */
export interface AccessBodies {
  readonly account: JsonObject;
  /** `undefined`: an existing ClusterRole is bound. */
  readonly role: JsonObject | undefined;
  readonly binding: JsonObject;
}

/**
 * The service account of a node and what it may do in the node's namespace.
 * @param isPod - only to use the pod that is there
 * @param clusterRole - an existing ClusterRole that is bound instead
 * @param meta - labels and annotations
 */
export function accessBodies(
  namespace: string,
  isPod: boolean,
  clusterRole: string | undefined,
  meta: JsonObject,
): AccessBodies {
  const { name: role, rules } = roleRules(isPod);
  const roleRef = {
    apiGroup: RBAC,
    kind: clusterRole === undefined ? 'Role' : 'ClusterRole',
    name: clusterRole ?? role,
  };
  return {
    account: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...meta, name: ACCOUNT } },
    role:
      clusterRole === undefined
        ? {
            ...{ apiVersion: `${RBAC}/v1`, kind: 'Role', metadata: { ...meta, name: role } },
            rules,
          }
        : undefined,
    binding: {
      ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata: { ...meta, name: 'zuul-role' }, roleRef },
      subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace }],
    },
  };
}

/** The role that is made for a node. */
export function roleRules(isPod: boolean): { readonly name: string; readonly rules: JsonObject[] } {
  return isPod ? { name: 'zuul-restricted', rules: POD_RULES } : { name: 'zuul', rules: NAMESPACE_RULES };
}

/** The secret that gets a token of an account, with no end. Its name is that of the original, unless it has one. */
export function tokenSecret(account: string, meta: JsonObject): JsonObject {
  const annotations = { ...(meta['annotations'] as JsonObject), 'kubernetes.io/service-account.name': account };
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token' },
    metadata: { name: account, ...meta, annotations },
  };
}

/** Metadata of a secret in a namespace of others: it carries the tags of its pod, and the cluster deletes it with that pod. */
export function metaWithPod(pod: ApiMeta): JsonObject {
  const { name, uid = '' } = pod;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name, uid }];
  return { ...marksOf(tagsOf(pod)), name: `${name}-${uid.slice(0, 8)}`, ownerReferences };
}

/** Of labels of type `pod`: to look at the pod and to use it. */
const POD_RULES: JsonObject[] = [
  { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['pods/exec', 'pods/portforward'], verbs: ['create', 'get'] },
];

/** Of labels of type `namespace`: to run what a job needs. */
const NAMESPACE_RULES: JsonObject[] = [
  {
    apiGroups: [''],
    resources: [
      ...['pods', 'pods/exec', 'pods/log', 'pods/portforward'],
      ...['services', 'endpoints', 'configmaps', 'secrets', 'persistentvolumeclaims', 'events'],
    ],
    verbs: VERBS,
  },
  { apiGroups: ['apps'], resources: ['deployments', 'replicasets', 'statefulsets', 'daemonsets'], verbs: VERBS },
  { apiGroups: ['batch'], resources: ['jobs', 'cronjobs'], verbs: VERBS },
];
