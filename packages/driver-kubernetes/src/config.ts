import {
  readStateMachineProvider,
  type Json,
  type JsonObject,
  type ProviderConfigContext,
  type Resources,
  type StateMachineLabelConfig,
  type StateMachinePoolConfig,
  type StateMachineProviderConfig,
} from '@nodepool/core';
import { problemOfTemplate } from './dynamic-labels.js';
import { kubeconfigFiles, type Env } from './kubeconfig.js';

/** Names of the drivers of this package. */
export type DriverName = 'kubernetes' | 'openshift' | 'openshiftpods';

/** Amounts of a container. Zero: none. */
export interface Amounts {
  readonly cpu: number | undefined;
  readonly memoryMib: number | undefined;
  readonly storageMb: number | undefined;
}

/** A label of a pool, with the defaults of the pool. */
export interface KubernetesLabelConfig extends StateMachineLabelConfig {
  readonly type: 'namespace' | 'project' | 'pod';
  /** Existing ClusterRole of the account of a node; `undefined`: a role is made. */
  readonly clusterRole: string | undefined;
  readonly image: string | undefined;
  readonly imagePull: string;
  readonly imagePullSecrets: JsonObject[];
  readonly labels: Readonly<Record<string, string>>;
  /** Templates, see `fillLabels`. */
  readonly dynamicLabels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly pythonPath: string;
  readonly shellType: string | null;
  readonly requests: Amounts;
  readonly limits: Amounts;
  readonly gpu: number | undefined;
  readonly gpuResource: string | undefined;
  readonly extraResources: Resources;
  readonly env: JsonObject[];
  readonly nodeSelector: JsonObject | undefined;
  readonly schedulerName: string | undefined;
  readonly privileged: boolean | undefined;
  readonly volumes: Json[] | undefined;
  readonly volumeMounts: Json[] | undefined;
  readonly spec: JsonObject | undefined;
}

/** A pool with its labels. */
export interface KubernetesPoolConfig extends StateMachinePoolConfig {
  readonly labels: ReadonlyMap<string, KubernetesLabelConfig>;
  /** Service account whose tokens jobs get; `undefined`: that of the driver. */
  readonly serviceAccount: string | undefined;
}

/** Typed form of a provider entry. */
export interface KubernetesProviderConfig extends StateMachineProviderConfig {
  readonly pools: ReadonlyMap<string, KubernetesPoolConfig>;
  /** Whether each node has a namespace of its own. Otherwise pools are namespaces. */
  readonly ownNamespaces: boolean;
  /** Whether these namespaces are projects of OpenShift. */
  readonly projects: boolean;
  readonly context: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly env: Env;
  readonly scheduleTimeoutMs: number;
  readonly tokenExpiryS: number;
}

const MAX_PARALLEL_CALLS = 50;
const LAUNCH_TIMEOUT_MS = 300_000;
/** Ends a launch just before its time is over, so that it fails with the reason of the pod. */
const SCHEDULE_SHARE = 0.9;
/** Lifetime of tokens unless the configuration says otherwise, s. */
export const TOKEN_EXPIRY_S = 86_400;
/** ClusterRole of jobs in their project, as in the original. */
const PROJECT_ROLE = 'admin';
/** Names of namespaces; the shorter one leaves a place for the id of a node. */
const POOL_NAMES = {
  whole: /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
  beginning: /^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/,
};
/** The API server takes no shorter ones. */
const SHORTEST_TOKEN_S = 600;
/** Written defaults change nothing. */
const DEFAULTS: JsonObject = { 'image-pull': 'IfNotPresent' };
/** What a label with a `spec` may have besides: what is no part of it. */
const BESIDE_SPEC = new Set([
  ...['name', 'type', 'spec', 'labels', 'dynamic-labels', 'annotations', 'cluster-role'],
  ...['python-path', 'shell-type'],
]);

/** Turns a provider entry that has passed the schema into its typed form. */
export function readProviderConfig(
  driverName: DriverName,
  entry: JsonObject,
  context: ProviderConfigContext,
): KubernetesProviderConfig {
  const common = readStateMachineProvider(entry, { driverName, hostKeyChecking: false });
  const { env = {} } = context;
  const kubeconfig = textOf(entry['kubeconfig']);
  const launchTimeoutMs = msOf(entry['launch-timeout']) ?? LAUNCH_TIMEOUT_MS;
  checkEntry(driverName, entry, context);
  checkPools(driverName, entry, context);
  return {
    ...common,
    launchTimeoutMs,
    maxParallelCalls: MAX_PARALLEL_CALLS,
    ...{ ownNamespaces: driverName !== 'openshiftpods', projects: driverName === 'openshift' },
    context: textOf(entry['context']) || undefined,
    ...{ kubeconfig, env, files: kubeconfigFiles(kubeconfig, env) },
    scheduleTimeoutMs: msOf(amountOf(entry['schedule-timeout'])) ?? launchTimeoutMs * SCHEDULE_SHARE,
    tokenExpiryS: tokenExpiryOf(entry['token-expiry']),
    pools: new Map(
      mapsOf(entry['pools']).flatMap((own): [string, KubernetesPoolConfig][] => {
        const pool = common.pools.get(textOf(own['name']) ?? '');
        return pool ? [[pool.name, readPool(driverName, pool, own, entry)]] : [];
      }),
    ),
  };
}

/** Limits of a pool are those of its provider unless it has its own. */
function readPool(
  driverName: DriverName,
  pool: StateMachinePoolConfig,
  own: JsonObject,
  entry: JsonObject,
): KubernetesPoolConfig {
  const ofProvider = entry['max-pods'] ?? entry['max-projects'] ?? entry['max-servers'];
  const ceilings = {
    ...amountsOf(entry['max-resources']),
    ...amountsOf(own['max-resources']),
    ...limitOf('cores', own['max-cores'] ?? entry['max-cores']),
    ...limitOf('ram', own['max-ram'] ?? entry['max-ram']),
  };
  return {
    ...pool,
    maxServers: numberOf(own['max-servers'] ?? ofProvider) ?? Infinity,
    maxResources: ceilings,
    serviceAccount: textOf(own['service-account']),
    notLent: givesOwnToken(driverName, own) ? notLentText(pool.name) : undefined,
    labels: new Map(
      mapsOf(own['labels']).flatMap((ofLabel): [string, KubernetesLabelConfig][] => {
        const label = pool.labels.get(textOf(ofLabel['name']) ?? '');
        return label ? [[label.name, readLabel(driverName, label, ofLabel, own)]] : [];
      }),
    ),
  };
}

function readLabel(
  driverName: DriverName,
  label: StateMachineLabelConfig,
  own: JsonObject,
  pool: JsonObject,
): KubernetesLabelConfig {
  const isPod = isPodType(driverName, own['type']);
  const isProject = driverName === 'openshift';
  const spec = isMap(own['spec']) ? own['spec'] : undefined;
  return {
    ...label,
    hostKeyChecking: false,
    type: isPod ? 'pod' : isProject ? 'project' : 'namespace',
    clusterRole: textOf(own['cluster-role']) ?? (isProject ? PROJECT_ROLE : undefined),
    image: textOf(own['image']),
    imagePull: textOf(own['image-pull']) ?? 'IfNotPresent',
    imagePullSecrets: listOf(own['image-pull-secrets']).flatMap((one): JsonObject[] =>
      typeof one === 'string' ? [{ name: one }] : mapsOf([one]),
    ),
    labels: textsIn(own['labels']),
    dynamicLabels: textsIn(own['dynamic-labels']),
    annotations: textsIn(own['annotations']),
    pythonPath: textOf(own['python-path']) ?? 'auto',
    shellType: textOf(own['shell-type']) ?? null,
    ...readAmounts(own, isPod && !spec ? pool : {}),
    env: mapsOf(own['env']),
    nodeSelector: isMap(own['node-selector']) ? textsIn(own['node-selector']) : undefined,
    schedulerName: textOf(own['scheduler-name']),
    privileged: typeof own['privileged'] === 'boolean' ? own['privileged'] : undefined,
    volumes: Array.isArray(own['volumes']) ? own['volumes'] : undefined,
    volumeMounts: Array.isArray(own['volume-mounts']) ? own['volume-mounts'] : undefined,
    spec,
  };
}

/** What a node uses. @param defaults - the pool of a label that takes its defaults */
function readAmounts(own: JsonObject, defaults: JsonObject) {
  const amount = (key: string) => amountOf(own[key]) ?? amountOf(defaults[`default-label-${key}`]);
  const requests = { cpu: amount('cpu'), memoryMib: amount('memory'), storageMb: amount('storage') };
  return {
    requests,
    limits: {
      cpu: amount('cpu-limit') ?? requests.cpu,
      memoryMib: amount('memory-limit') ?? requests.memoryMib,
      storageMb: amount('storage-limit') ?? requests.storageMb,
    },
    gpu: amountOf(own['gpu']),
    gpuResource: textOf(own['gpu-resource']),
    extraResources: { ...amountsOf(defaults['default-label-extra-resources']), ...amountsOf(own['extra-resources']) },
  };
}

/** Whether jobs get the token of the launcher itself, as in the original. */
function givesOwnToken(driverName: DriverName, pool: JsonObject): boolean {
  return driverName === 'openshiftpods' && textOf(pool['service-account']) === undefined;
}

const notLentText = (pool: string) =>
  `nodes of pool "${pool}" carry the cluster token of the launcher itself, so they are lent to no lessee: ` +
  'set service-account of the pool to an account that may only use its pods';

function checkPools(driverName: DriverName, entry: JsonObject, context: ProviderConfigContext): void {
  for (const [index, pool] of mapsOf(entry['pools']).entries()) {
    const name = textOf(pool['name']) ?? '';
    if (!POOL_NAMES[driverName === 'openshiftpods' ? 'whole' : 'beginning'].test(name)) {
      const most = driverName === 'openshiftpods' ? 63 : 52;
      const expected = `expected at most ${most} lower-case letters, digits and "-"`;
      const message = `the cluster refuses the nodes of pool "${name}", which names their namespaces: ${expected}`;
      context.problem(['pools', index, 'name'], message, 'warning');
    }
    if (givesOwnToken(driverName, pool)) context.problem(['pools', index], notLentText(name), 'warning');
    for (const [position, label] of mapsOf(pool['labels']).entries()) {
      checkLabel(driverName, label, ['pools', index, 'labels', position], context);
    }
  }
}

function checkEntry(driverName: DriverName, entry: JsonObject, context: ProviderConfigContext): void {
  if (entry['context'] === '') {
    context.problem(['context'], 'it is empty: the current context of the kubeconfig file is used', 'warning');
  }
  const expiry = numberOf(entry['token-expiry']);
  if (expiry !== undefined && expiry !== tokenExpiryOf(expiry)) {
    context.problem(
      ['token-expiry'],
      `clusters give no token for less than ${SHORTEST_TOKEN_S} s: taken as that`,
      'warning',
    );
  }
  if (expiry === 0 && driverName === 'openshiftpods') {
    const message = `tokens of a service-account end after ${TOKEN_EXPIRY_S} s nevertheless: their namespace is not the node's own`;
    context.problem(['token-expiry'], message, 'warning');
  }
}

/** As in the original, what is no empty namespace is a pod. */
function isPodType(driverName: DriverName, type: Json | undefined): boolean {
  return driverName === 'openshiftpods' || type !== (driverName === 'openshift' ? 'project' : 'namespace');
}

function checkLabel(
  driverName: DriverName,
  label: JsonObject,
  path: readonly (string | number)[],
  context: ProviderConfigContext,
): void {
  const what = `label "${textOf(label['name'])}"`;
  const isPod = isPodType(driverName, label['type']);
  if (isPod && !('image' in label) && !('spec' in label)) {
    context.problem(
      path,
      `${what} has no image, so that it cannot be launched: give it an image, or a spec`,
      'warning',
    );
  }
  const beside =
    'spec' in label ? Object.keys(label).filter((key) => !BESIDE_SPEC.has(key) && label[key] !== DEFAULTS[key]) : [];
  if (beside.length > 0) {
    const message = `${what} has a spec, which replaces ${beside.join(', ')}: they have no effect`;
    context.problem(path, message, 'warning');
  }
  for (const key of ['volumes', 'volume-mounts']) {
    if (listOf(label[key]).every(isMap)) continue;
    context.problem([...path, key], 'the cluster refuses an entry that is no map', 'warning');
  }
  for (const [key, template] of Object.entries(textsIn(label['dynamic-labels']))) {
    const problem = problemOfTemplate(template);
    if (problem !== undefined) context.problem([...path, 'dynamic-labels', key], problem, 'warning');
  }
}

function limitOf(name: string, value: Json | undefined): Resources {
  const limit = numberOf(value);
  return limit === undefined || limit === -1 ? {} : { [name]: limit };
}

function amountsOf(value: Json | undefined): Resources {
  if (!isMap(value)) return {};
  const numbers = Object.entries(value).filter((one): one is [string, number] => amountOf(one[1]) !== undefined);
  return Object.fromEntries(numbers);
}

/** A map of texts; numbers and flags as YAML has them become texts, as Kubernetes wants them. */
function textsIn(value: Json | undefined): Record<string, string> {
  if (!isMap(value)) return {};
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, typeof one === 'string' ? one : JSON.stringify(one)]),
  );
}

function msOf(value: Json | undefined): number | undefined {
  const seconds = numberOf(value);
  return seconds === undefined ? undefined : seconds * 1_000;
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** A number that is not negative. */
function amountOf(value: Json | undefined): number | undefined {
  const amount = numberOf(value);
  return amount !== undefined && amount >= 0 ? amount : undefined;
}

function tokenExpiryOf(value: Json | undefined): number {
  const seconds = numberOf(value) ?? TOKEN_EXPIRY_S;
  return seconds === 0 ? 0 : Math.max(SHORTEST_TOKEN_S, seconds);
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function mapsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
