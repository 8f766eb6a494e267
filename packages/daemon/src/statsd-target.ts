import { NodepoolError } from '@nodepool/zk-protocol';
import type { StatsdTarget } from '@nodepool/core/service';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_HOST = 'localhost';
const DEFAULT_PORT = 8125;

/**
 * Reads the address of the statsd daemon from `STATSD_HOST` and `STATSD_PORT`; one of them is enough. `STATSD_NORMALIZE=1`
 * replaces dots in names of hosts, providers and labels by `_`.
 * @returns `undefined` if neither is set
 * @throws NODEPOOL_STATSD if the port is invalid
 */
export function statsdTarget(env: Environment): StatsdTarget | undefined {
  const host = env['STATSD_HOST']?.trim() ?? '';
  const port = env['STATSD_PORT']?.trim() ?? '';
  if (host === '' && port === '') return undefined;
  return {
    host: host === '' ? DEFAULT_HOST : host,
    port: port === '' ? DEFAULT_PORT : readPort(port),
    normalize: env['STATSD_NORMALIZE'] === '1',
  };
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new NodepoolError(
    'NODEPOOL_STATSD',
    `cannot send metrics: STATSD_PORT is "${text}", which is not a port; set it to 1-65535, or unset it for ${DEFAULT_PORT}`,
  );
}
