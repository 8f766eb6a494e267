import type { ComponentRecord } from '@nodepool/zk-protocol';

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Name of a service in conditions: its host with the port of its web server, if that is known, as a host may run several. */
export function serviceName({ hostname, webUrl }: Pick<ComponentRecord, 'hostname' | 'webUrl'>): string {
  if (!webUrl || !URL.canParse(webUrl)) return hostname;
  const { port, protocol } = new URL(webUrl);
  const shown = port === '' ? PORTS[protocol] : port;
  return shown === undefined ? hostname : `${hostname}:${shown}`;
}
