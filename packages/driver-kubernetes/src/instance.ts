import type { Instance, JsonObject } from '@nodepool/core';
import type { ApiMeta, ApiNamespace, ApiPod } from './api.js';
import type { KubernetesLabelConfig } from './config.js';
import type { Login } from './credentials.js';
import { ATTEMPT_ANNOTATION, tagsOf } from './ownership.js';
import { problemOf } from './pod-state.js';

/** A namespace with its pod, or a pod, as an instance. */
export interface KubernetesInstance extends Instance {
  readonly uid: string | undefined;
  readonly namespace: ApiNamespace | undefined;
  readonly pod: ApiPod | undefined;
  /** Being deleted. */
  readonly isEnding: boolean;
  /** Random id of its creation; `undefined`: created by another program. */
  readonly attempt: string | undefined;
}

/**
 * Translates a namespace with its pod, or a pod of a shared namespace. It is never `ready`: only its creation has the token
 * that a job needs.
 */
export function toInstance(
  externalId: string,
  namespace: ApiNamespace | undefined,
  pod: ApiPod | undefined,
): KubernetesInstance | undefined {
  const meta = (namespace ?? pod)?.metadata;
  if (!meta) return undefined;
  const tags = tagsOf(meta);
  const phase = pod?.status?.phase ?? namespace?.status?.phase;
  return {
    ...{ externalId, ready: false, deleted: false, namespace, pod },
    status: phase,
    unusable: unusableText(meta, pod),
    interfaceIp: pod?.metadata.name ?? null,
    metadata: tags,
    uid: meta.uid,
    isEnding: meta.deletionTimestamp !== undefined,
    attempt: tags[ATTEMPT_ANNOTATION],
  };
}

function unusableText({ deletionTimestamp }: ApiMeta, pod: ApiPod | undefined): string | undefined {
  if (deletionTimestamp !== undefined) return 'another program deletes it';
  const problem = pod && problemOf(pod);
  return problem?.fails === 'now' ? problem.error.message : undefined;
}

/** A token that jobs get. */
export interface Grant {
  readonly token: string;
  readonly user: string;
}

/** A login at the proxy is the launcher's own. */
function withoutLogin(proxyUrl: string): string {
  if (!URL.canParse(proxyUrl)) return proxyUrl;
  const url = new URL(proxyUrl);
  if (url.username === '' && url.password === '') return proxyUrl;
  url.username = '';
  url.password = '';
  return url.href;
}

/** A usable instance, with what its node record says. */
export function usable(
  instance: KubernetesInstance,
  grant: Grant,
  place: { readonly namespace: string; readonly pod: string | undefined },
  label: KubernetesLabelConfig,
  { cluster }: Login,
): KubernetesInstance {
  const { server, skipTls, ca, context, tlsServerName, proxyUrl } = cluster;
  const connectionPort: JsonObject = {
    ...{ name: place.namespace, namespace: place.namespace, host: server, skiptls: skipTls },
    ...{ token: grant.token, user: grant.user },
    ...(!skipTls && { ca_crt: Buffer.from(ca ?? '').toString('base64') }),
    ...(place.pod !== undefined && { pod: place.pod }),
    ...(tlsServerName !== undefined && { tls_server_name: tlsServerName }),
    ...(proxyUrl !== undefined && { proxy_url: withoutLogin(proxyUrl) }),
  };
  return {
    ...instance,
    ready: true,
    interfaceIp: place.pod ?? null,
    connectionType: label.type === 'pod' ? 'kubectl' : label.type,
    connectionPort,
    hostId: instance.pod?.spec?.nodeName ?? null,
    cloud: context,
    pythonPath: label.pythonPath,
    shellType: label.shellType,
  };
}
