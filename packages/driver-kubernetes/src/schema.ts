import { STATE_MACHINE_SCHEMAS, type JsonObject, type JsonSchema } from '@nodepool/core';

const text = { type: 'string', minLength: 1 };
const flag = { type: 'boolean' };
const AS_ABSENT = 'taken as if the key were not there';
const amount = { type: 'number', minimum: 0, 'x-tolerates': { minimum: AS_ABSENT } };
const anything = { type: 'object', additionalProperties: true };
const texts = { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } };
const amounts = { type: 'object', additionalProperties: amount };

const NONE = { 'x-default': 'none' };
const { provider, pool, label } = STATE_MACHINE_SCHEMAS;
const { 'launch-timeout': launchTimeout, 'launch-retries': launchRetries, rate } = provider;

/** An object with these keys and no others. */
function object(title: string, properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', title, additionalProperties: false, required, properties };
}

/** Requests, and their limits, of a label; the default of a pool has `default-label-` before its name. */
const REQUESTS = {
  cpu: { ...amount, description: 'Cores requested for the container' },
  memory: { ...amount, description: 'Memory requested for the container, in MiB' },
  storage: { ...amount, description: 'Ephemeral storage requested for the container, in MB' },
};
const LIMITS = {
  'cpu-limit': { ...amount, description: 'Ceiling of cores of the container' },
  'memory-limit': { ...amount, description: 'Ceiling of memory of the container, in MiB' },
  'storage-limit': { ...amount, description: 'Ceiling of ephemeral storage of the container, in MB' },
};
const EXTRA = { 'extra-resources': { ...amounts, description: 'Further resources that one node counts as, by name' } };

function withDefault(keys: Readonly<Record<string, JsonObject>>, is: string, prefix = ''): JsonObject {
  return Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [`${prefix}${key}`, { ...value, 'x-default': is }]),
  );
}

const MARKS = {
  labels: { ...texts, description: 'Labels of the namespace and the pod', ...NONE },
  'dynamic-labels': {
    ...texts,
    description: 'Labels with values of the request',
    ...NONE,
    examples: [{ tenant: '{request.tenant_name}' }],
  },
  annotations: { ...texts, description: 'Annotations of the pod', ...NONE },
};

const POD = {
  image: { ...text, description: 'Image of the container', ...NONE },
  'image-pull': {
    enum: ['IfNotPresent', 'Always', 'Never'],
    'x-tolerates': { enum: 'the cluster refuses such pods' },
    description: 'When the image is pulled',
    default: 'IfNotPresent',
  },
  'image-pull-secrets': {
    type: 'array',
    items: {
      ...anything,
      type: ['object', 'string'],
      required: ['name'],
      properties: { name: { ...text, description: 'Name of a secret' } },
    },
    description: 'Secrets for private registries',
    ...NONE,
  },
  'python-path': { type: 'string', description: 'Python that Ansible uses on nodes', default: 'auto' },
  'shell-type': { type: 'string', description: 'Shell that Ansible uses on nodes', 'x-default': "Ansible's own" },
  ...withDefault(REQUESTS, 'that of the pool'),
  ...withDefault(LIMITS, 'that of the pool, else the request'),
  ...withDefault(EXTRA, 'those of the pool'),
  gpu: { ...amount, description: 'GPUs requested for the container', ...NONE },
  'gpu-resource': {
    ...text,
    description: 'Name of the GPU resource of the cluster',
    ...NONE,
    examples: ['nvidia.com/gpu'],
  },
  env: {
    type: 'array',
    'x-tolerates': { type: AS_ABSENT },
    title: 'Environment variable',
    items: {
      ...{ type: 'object', additionalProperties: false, required: ['name'] },
      properties: {
        name: { ...text, description: 'Name of the variable' },
        value: { type: 'string', description: 'Value of the variable', 'x-default': 'none', 'x-secret': true },
        valueFrom: { ...anything, description: 'Source of its value, as in the specification of a pod', ...NONE },
      },
    },
    description: 'Environment of the container',
    ...NONE,
  },
  'node-selector': { ...texts, description: 'Labels of the cluster nodes that may run the pod', ...NONE },
  'scheduler-name': { ...text, description: 'Scheduler of the pod', 'x-default': "the cluster's own" },
  privileged: { ...flag, description: 'Whether the container is privileged', 'x-default': "the cluster's own" },
  volumes: { type: 'array', items: {}, description: 'Volumes of the pod, as in its specification', ...NONE },
  'volume-mounts': { type: 'array', items: {}, description: 'Mounts of the container', ...NONE },
  spec: {
    ...anything,
    description: 'Specification of the pod, used as it is, instead of all other keys but labels and annotations',
    ...NONE,
  },
};

/** As in the original. */
const OTHER_TYPE = { 'x-tolerates': { enum: 'taken as "pod"' } };

const CLUSTER = {
  context: { ...text, description: 'Context of the kubeconfig file', 'x-default': 'the current one, or the own pod' },
  kubeconfig: { ...text, description: 'Path of the kubeconfig file', 'x-default': 'KUBECONFIG, else ~/.kube/config' },
  'launch-timeout': { ...launchTimeout, default: 300 },
  'launch-retries': launchRetries,
  rate,
  'schedule-timeout': {
    ...amount,
    description: 'Time that a pod may be unschedulable, or its image not be pulled, in seconds',
    'x-default': 'nine tenths of launch-timeout',
  },
  'token-expiry': {
    ...{ type: 'integer', minimum: 0 },
    description:
      'Lifetime of the token of a node, at least 600 seconds; nodes that are idle for half of it are replaced. ' +
      '0: tokens without an end, as in the original',
    default: 86_400,
  },
};

const ceiling = (description: string) => ({ type: 'integer', description, 'x-default': 'no limit' });
const CEILINGS = {
  'max-cores': ceiling('Ceiling of cores in use, of each pool'),
  'max-ram': ceiling('Ceiling of memory in use, in MiB, of each pool'),
  'max-resources': {
    ...amounts,
    description: 'Ceilings of other resources, by name, of each pool',
    'x-default': 'no limit',
  },
  'max-servers': ceiling('Ceiling of nodes of each pool'),
};

const { name, priority, 'node-attributes': attributes, 'ignore-provider-quota': ignoreQuota } = pool;
const OF_PROVIDER = 'that of the provider';
const POOL = {
  ...{ name, priority, 'node-attributes': attributes, 'ignore-provider-quota': ignoreQuota },
  'max-servers': { ...pool['max-servers'], 'x-default': OF_PROVIDER },
  'max-cores': { ...pool['max-cores'], 'x-default': OF_PROVIDER },
  'max-ram': { ...pool['max-ram'], 'x-default': OF_PROVIDER },
  'max-resources': { ...amounts, description: 'Ceilings of other resources, by name', 'x-default': OF_PROVIDER },
  ...withDefault(REQUESTS, 'none', 'default-label-'),
  ...withDefault(LIMITS, 'the request', 'default-label-'),
  ...withDefault(EXTRA, 'none', 'default-label-'),
};

/** Keys of a provider entry of the driver `kubernetes`. */
export const kubernetesSchema: JsonSchema = schemaOf(
  { ...CLUSTER, ...CEILINGS },
  {
    ...POOL,
    name: { ...name, description: 'Name of the pool, which the names of its namespaces begin with' },
  },
  object(
    'Label',
    {
      name: label.name,
      type: {
        enum: ['namespace', 'pod'],
        ...OTHER_TYPE,
        description: 'What a node is: an empty namespace, or a pod in one',
      },
      'cluster-role': {
        ...text,
        description: 'ClusterRole of the service account of nodes',
        'x-default': 'a role that is created with each node',
      },
      ...MARKS,
      ...POD,
    },
    ['name', 'type'],
  ),
);

/** Keys of a provider entry of the driver `openshift`. */
export const openshiftSchema: JsonSchema = schemaOf(
  {
    ...{ ...CLUSTER, context: { type: 'string', description: 'Context of the kubeconfig file' }, ...CEILINGS },
    'max-projects': ceiling('Another name of max-servers'),
  },
  {
    ...POOL,
    name: { ...name, description: 'Name of the pool, which the names of its projects begin with' },
  },
  object(
    'Label',
    {
      name: label.name,
      type: {
        enum: ['project', 'pod'],
        ...OTHER_TYPE,
        description: 'What a node is: an empty project, or a pod in one',
      },
      'cluster-role': { ...text, description: 'ClusterRole of the service account of nodes', default: 'admin' },
      ...{ ...MARKS, labels: { ...MARKS.labels, description: 'Labels of the pod' } },
      ...POD,
    },
    ['name', 'type'],
  ),
  ['context'],
);

/** Keys of a provider entry of the driver `openshiftpods`. */
export const openshiftPodsSchema: JsonSchema = schemaOf(
  {
    ...{ ...CLUSTER, context: { type: 'string', description: 'Context of the kubeconfig file' }, ...CEILINGS },
    'max-pods': ceiling('Another name of max-servers'),
    'max-projects': ceiling('Another name of max-servers'),
  },
  {
    ...POOL,
    name: { ...name, description: 'Namespace of the pods' },
    'service-account': {
      ...text,
      description: 'Service account of the namespace, whose tokens jobs get',
      'x-default': 'the token of the context',
    },
  },
  object('Label', { name: label.name, ...MARKS, ...POD }, ['name']),
  ['context'],
);

function schemaOf(entry: JsonObject, poolKeys: JsonObject, labels: JsonObject, required: string[] = []): JsonSchema {
  return {
    type: 'object',
    'x-ours': [
      ...['kubeconfig', 'launch-timeout', 'rate', 'schedule-timeout', 'token-expiry', 'pools[].service-account'],
      ...['pools[].labels[].cluster-role', 'pools[].labels[].env[].value: required'],
    ],
    'x-services-only': ['pools[].labels[].env[].valueFrom'],
    required,
    properties: {
      ...entry,
      pools: {
        type: 'array',
        description: 'Slices of the cluster',
        ...NONE,
        items: object(
          'Pool',
          {
            ...poolKeys,
            labels: { type: 'array', description: 'Labels that the pool launches', ...NONE, items: labels },
          },
          ['name'],
        ),
      },
    },
  };
}
