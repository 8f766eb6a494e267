import type { JsonObject } from '@nodepool/core';
import type { Amounts, KubernetesLabelConfig } from './config.js';

/** The shell of a container stops at once; nothing of a node is worth waiting for. */
const GRACE_SECONDS = 1;

/** Body of the pod of a label. */
export function podBody(name: string, label: KubernetesLabelConfig, meta: PodMeta): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name, labels: meta.labels },
      annotations: { ...defaultContainer(name, label), ...label.annotations, ...meta.annotations },
    },
    spec: label.spec ?? specOf(name, label),
  };
}

/** The container that `kubectl exec` enters, also in a pod to which the cluster adds others: the one of the label, or the first. */
function defaultContainer(name: string, { spec }: KubernetesLabelConfig): Readonly<Record<string, string>> {
  const [first] = Array.isArray(spec?.['containers']) ? spec['containers'] : [];
  const container = spec === undefined ? name : (Object(first) as { readonly name?: unknown }).name;
  return typeof container === 'string' ? { 'kubectl.kubernetes.io/default-container': container } : {};
}

/** Marks of a pod. */
export interface PodMeta {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function specOf(name: string, label: KubernetesLabelConfig): JsonObject {
  const { imagePullSecrets, nodeSelector, schedulerName, volumes } = label;
  return {
    containers: [containerOf(name, label)],
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: GRACE_SECONDS,
    ...(imagePullSecrets.length > 0 && { imagePullSecrets }),
    ...(nodeSelector && { nodeSelector }),
    ...(schedulerName !== undefined && { schedulerName }),
    ...(volumes && { volumes }),
  };
}

function containerOf(name: string, label: KubernetesLabelConfig): JsonObject {
  const { image, imagePull, env, volumeMounts, privileged } = label;
  const requests = amountsOf(label.requests, label);
  const limits = amountsOf(label.limits, label);
  const resources = {
    ...(Object.keys(requests).length > 0 && { requests }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  return {
    name,
    image: image ?? '',
    imagePullPolicy: imagePull,
    command: ['/bin/sh', '-c'],
    args: ['while true; do sleep 30; done;'],
    env,
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(volumeMounts && { volumeMounts }),
    ...(privileged !== undefined && { securityContext: { privileged } }),
  };
}

/** Zero means no request, as in the original. */
function amountsOf({ cpu, memoryMib, storageMb }: Amounts, { gpu, gpuResource }: KubernetesLabelConfig): JsonObject {
  return {
    ...(cpu && { cpu: quantityOf(cpu) }),
    ...(memoryMib && { memory: `${memoryMib}Mi` }),
    ...(storageMb && { 'ephemeral-storage': `${storageMb}M` }),
    ...(gpu && gpuResource !== undefined && { [gpuResource]: quantityOf(gpu) }),
  };
}

function quantityOf(amount: number): string {
  return Number.isInteger(amount) ? String(amount) : `${Math.round(amount * 1_000)}m`;
}
