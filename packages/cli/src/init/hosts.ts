import { isIP } from 'node:net';
import { UsageError } from '../command/usage-error.js';

/** A machine as it is named on the command line. */
export interface HostAddress {
  readonly user: string;
  /** Name or address. */
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PORT = 22;
const HIGHEST_PORT = 65_535;
const FORM = /^(?<user>[^@:\s]+)@(?:\[(?<bracketed>[^\]\s]+)\]|(?<plain>[^@:[\]\s]+))(?::(?<port>\d+))?$/;
const BARE_IPV6 = /^(?<user>[^@:\s]+)@(?<bracketed>[0-9a-f]*:[0-9a-f:.]*:[0-9a-f.]*)$/i;
/** What a host name or address consists of; a leading `-` would be an option of ssh. */
const HOST = /^[A-Za-z0-9_](?:[\w.-]*[\w.])?$/;

/** @throws UsageError it is not `user@host` or `user@host:port` */
export function parseHost(text: string): HostAddress {
  const { user, bracketed, plain, port } = (FORM.exec(text) ?? BARE_IPV6.exec(text))?.groups ?? {};
  const host = bracketed ?? plain;
  if (user === undefined || host === undefined || user.startsWith('-'))
    throw new UsageError(`"${text}" is not a machine: write user@host or user@host:port`);
  const isAddress = isIP(host) === 6 || (bracketed === undefined && HOST.test(host));
  if (!isAddress) throw new UsageError(`"${text}" is not a machine: "${host}" is neither a host name nor an address`);
  const number = port === undefined ? DEFAULT_PORT : Number(port);
  if (number < 1 || number > HIGHEST_PORT)
    throw new UsageError(`"${text}" is not a machine: the port must be 1 to ${HIGHEST_PORT}`);
  return { user, host, port: number };
}

/** @throws UsageError for the first that is wrong, or named twice */
export function parseHosts(texts: readonly string[]): HostAddress[] {
  const seen = new Set<string>();
  return texts.map((text) => {
    const host = parseHost(text);
    const shown = describeHost(host);
    if (seen.has(shown)) throw new UsageError(`${shown} is named twice`);
    seen.add(shown);
    return host;
  });
}

/** User, host and port, for people; the port only where it is not 22. */
export function describeHost({ user, host, port }: HostAddress): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  return port === DEFAULT_PORT ? `${user}@${shown}` : `${user}@${shown}:${port}`;
}
