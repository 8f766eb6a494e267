import {
  defineStateMachineDriver,
  TaskManager,
  type AdapterContext,
  type Driver,
  type JsonSchema,
} from '@nodepool/core';
import { KubernetesAdapter } from './adapter.js';
import { createKubernetesClient } from './client.js';
import { readProviderConfig, type DriverName, type KubernetesProviderConfig } from './config.js';
import { createCredentials } from './credentials.js';
import { createHttp, type Http } from './http.js';
import { kubernetesSchema, openshiftPodsSchema, openshiftSchema } from './schema.js';
import { NAMESPACES, PROJECTS } from './spaces.js';
import { nameOf } from './rules.js';
import { GIVE, narrowText, reviewRights } from './wanted-rights.js';

type RightsContext = ConnectContext & { readonly signal: AbortSignal };
type ConnectContext = Pick<AdapterContext, 'clock' | 'logger'>;

/** Parts of the driver that tests replace. */
export interface KubernetesDriverOptions {
  /** Connects a provider to the API server. Default: over HTTP, as configured. */
  readonly connect?: ((config: KubernetesProviderConfig, context: ConnectContext) => Http) | undefined;
}

const SCHEMAS: Readonly<Record<DriverName, JsonSchema>> = {
  ...{ kubernetes: kubernetesSchema, openshift: openshiftSchema, openshiftpods: openshiftPodsSchema },
};

/** Creates a driver of this package. */
export function createKubernetesDriver(name: DriverName, { connect = overHttp }: KubernetesDriverOptions = {}): Driver {
  return defineStateMachineDriver<KubernetesProviderConfig>({
    name,
    schema: SCHEMAS[name],
    resumes: true,
    getProviderConfig: (entry, context) => readProviderConfig(name, entry, context),
    missingRights: (config, context) => missingRights(config, connect(config, context), context),
    getAdapter: (config, context) =>
      new KubernetesAdapter(
        config,
        createKubernetesClient(
          connect(config, context),
          context.tasks,
          config.projects ? PROJECTS : NAMESPACES,
          context.entries,
        ),
        context,
      ),
  });
}

/** Without repetitions: a user waits for the answer. */
const ONCE = { maxRepeats: 0 };

async function missingRights(config: KubernetesProviderConfig, http: Http, context: RightsContext) {
  const tasks = new TaskManager(config.name, { ...context, ...ONCE });
  const client = createKubernetesClient(http, tasks);
  try {
    const reviewed = await reviewRights(config, (namespace) => client.getOwnRules(namespace, context.signal));
    const cost = narrowText(reviewed?.narrow ?? new Map());
    const missing = reviewed && [...reviewed.missing, ...(cost === '' ? [] : [{ ...GIVE, cost }])];
    return missing?.map((right) => ({ right: nameOf(right), cost: right.cost }));
  } finally {
    await http.close();
  }
}

function overHttp({ kubeconfig, context, env }: KubernetesProviderConfig, { clock, logger }: ConnectContext): Http {
  return createHttp({ credentials: createCredentials({ file: kubeconfig, context, env }, clock, logger), clock });
}

/** Creates namespaces and pods in Kubernetes. */
export const driver: Driver = createKubernetesDriver('kubernetes');

/** Creates projects of OpenShift, and pods in them. */
export const openshiftDriver: Driver = createKubernetesDriver('openshift');

/** Creates pods in namespaces of OpenShift or Kubernetes that exist. */
export const openshiftPodsDriver: Driver = createKubernetesDriver('openshiftpods');
