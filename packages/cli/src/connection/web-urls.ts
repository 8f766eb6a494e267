import type { ComponentRecord } from '@nodepool/zk-protocol';

/** The loopback address. */
export const LOOPBACK = '127.0.0.1';
const LOOPBACK_HOST = /^(127\.|\[::1\]$|localhost$)/;
const IP_ADDRESS = /^[0-9.]+$|^\[/;

/** Registered URLs of components, as far as they can be reached from this host. @param own - name of this host */
export function registeredUrls(components: readonly ComponentRecord[], own: string): string[] {
  return components.flatMap(({ webUrl, hostname: host }) =>
    webUrl ? (reachableUrl(webUrl, isHost(host, own)) ?? []) : [],
  );
}

/**
 * Loopback URLs are valid on their own host only. There, loopback also replaces host names, which may not resolve, except for
 * HTTPS: certificates name the host.
 */
function reachableUrl(webUrl: string, isOwnHost: boolean): string | undefined {
  if (!URL.canParse(webUrl)) return undefined;
  const { hostname: host, port, protocol } = new URL(webUrl);
  const isLoopback = LOOPBACK_HOST.test(host);
  if (!isOwnHost) return isLoopback ? undefined : webUrl;
  return isLoopback || IP_ADDRESS.test(host) || protocol === 'https:' ? webUrl : `http://${LOOPBACK}:${port}`;
}

/** A host without its domain. */
export function shortName(host: string): string {
  return host.split('.', 1)[0] ?? host;
}

/** Whether two names are of one host; a short name matches every domain. */
export function isHost(a: string, b: string): boolean {
  return a === b || ((!a.includes('.') || !b.includes('.')) && shortName(a) === shortName(b));
}
