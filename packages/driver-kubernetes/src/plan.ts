import type { CreateOrder } from '@nodepool/core';
import { accessBodies } from './access.js';
import type { KubernetesLabelConfig, KubernetesPoolConfig, KubernetesProviderConfig } from './config.js';
import type { Plan } from './create-node.js';
import { fillLabels } from './dynamic-labels.js';
import { podId } from './inventory.js';
import { ATTEMPT_ANNOTATION, labelValue, marksOf, NODE_LABEL_TAG, objectName } from './ownership.js';
import { podBody } from './pod-body.js';

/** Where an instance is. */
export interface Place {
  readonly namespace: string;
  readonly pod: string | undefined;
}

/** Names and bodies of what is created for a node. Names are those of the original. */
export function planOf(
  config: Pick<KubernetesProviderConfig, 'ownNamespaces' | 'projects'>,
  order: CreateOrder<KubernetesLabelConfig, KubernetesPoolConfig>,
  attempt: string,
): Plan {
  const { label, pool, node, request, logger } = order;
  const { ownNamespaces } = config;
  const own = marksOf(order.metadata);
  const annotations = { ...own.annotations, [ATTEMPT_ANNOTATION]: attempt };
  const labels = {
    ...label.labels,
    ...fillLabels(label.dynamicLabels, request, logger),
    ...own.labels,
    [NODE_LABEL_TAG]: labelValue(label.name),
  };
  const namespace = ownNamespaces ? `${pool.name}-${node.id}` : pool.name;
  const isPod = label.type === 'pod';
  const labelName = objectName(label.name);
  const podName = ownNamespaces ? labelName : `${labelName}-${node.id}`;
  return {
    externalId: ownNamespaces ? namespace : podId(namespace, podName),
    ...{ namespace, attempt, isProject: config.projects },
    namespaceBody: ownNamespaces
      ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels, annotations } }
      : undefined,
    access: ownNamespaces
      ? accessBodies(namespace, isPod, label.clusterRole, { labels: own.labels, annotations })
      : undefined,
    pod: isPod ? { name: podName, body: podBody(podName, label, { labels, annotations }) } : undefined,
  };
}

/** Where an instance is, by its id. @param pool - pool of its node, if it is known */
export function placeOf(
  { ownNamespaces, pools }: Pick<KubernetesProviderConfig, 'ownNamespaces' | 'pools'>,
  externalId: string,
  pool: string | undefined,
): Place {
  if (ownNamespaces) return { namespace: externalId, pod: undefined };
  const candidates = [pool, ...pools.keys()].filter((one) => one !== undefined);
  const fitting = candidates.filter((one) => externalId.startsWith(podId(one, '')));
  const [namespace = ''] = fitting.sort((one, other) => other.length - one.length);
  return { namespace, pod: externalId.slice(podId(namespace, '').length) };
}
