import { defineStateMachineDriver, type AdapterContext, type Driver, type JsonSchema } from '@nodepool/core';
import { KubernetesAdapter } from './adapter.js';
import { createKubernetesClient } from './client.js';
import { readProviderConfig, type DriverName, type KubernetesProviderConfig } from './config.js';
import { createCredentials } from './credentials.js';
import { createHttp, type Http } from './http.js';
import { kubernetesSchema, openshiftPodsSchema, openshiftSchema } from './schema.js';
import { NAMESPACES, PROJECTS } from './spaces.js';

/** Parts of the driver that tests replace. */
export interface KubernetesDriverOptions {
  /** Connects a provider to the API server. Default: over HTTP, as configured. */
  readonly connect?: ((config: KubernetesProviderConfig, context: AdapterContext) => Http) | undefined;
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

function overHttp({ kubeconfig, context, env }: KubernetesProviderConfig, { clock, logger }: AdapterContext): Http {
  return createHttp({ credentials: createCredentials({ file: kubeconfig, context, env }, clock, logger), clock });
}

/** Creates namespaces and pods in Kubernetes. */
export const driver: Driver = createKubernetesDriver('kubernetes');

/** Creates projects of OpenShift, and pods in them. */
export const openshiftDriver: Driver = createKubernetesDriver('openshift');

/** Creates pods in namespaces of OpenShift or Kubernetes that exist. */
export const openshiftPodsDriver: Driver = createKubernetesDriver('openshiftpods');
