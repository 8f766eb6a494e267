/** A rule of a role. */
export interface Rule extends Record<string, unknown> {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

const ALL = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

/** What the original's driver `kubernetes` calls, and what its roles of nodes give, which it must hold; nothing else. */
export const ORIGINAL_KUBERNETES: Rule[] = [
  { apiGroups: [''], resources: ['namespaces'], verbs: ['create', 'delete', 'get', 'list'] },
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['create'] },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: [
      ...[
        'pods',
        'pods/exec',
        'pods/log',
        'pods/logs',
        'pods/portforward',
        'services',
        'endpoints',
        'crontabs',
        'jobs',
      ],
      ...['deployments', 'replicasets', 'configmaps', 'secrets'],
    ],
    verbs: ALL,
  },
];

/** The role that sf-operator makes for `openshiftpods`. */
export const SF_OPERATOR: Rule[] = [
  {
    apiGroups: [''],
    resources: [
      ...['pods', 'pods/exec', 'pods/portforward', 'services', 'persistentvolumeclaims', 'configmaps', 'secrets'],
    ],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  },
];

/** What the original's driver `openshiftpods` calls. */
export const ORIGINAL_PODS: Rule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: ['create', 'delete', 'get', 'list'] },
  { apiGroups: [''], resources: ['pods/exec', 'pods/portforward'], verbs: ['create', 'get'] },
];
