import { isIPv6 } from 'node:net';

/** Prefix of the address of a server on a Unix socket. */
export const UNIX = 'unix:';

/** Whether a host is the path of a Unix socket. */
export function isSocketPath(host: string): boolean {
  return host.startsWith('/');
}

/** `host:port`, with brackets around IPv6; `unix:/path`. */
export function formatServer(server: { host: string; port: number }): string {
  if (isSocketPath(server.host)) return UNIX + server.host;
  return `${isIPv6(server.host) ? `[${server.host}]` : server.host}:${server.port}`;
}
