import { readdirSync } from 'node:fs';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { Metrics } from '@nodepool/core/service';
import type { ProcessUsage, StatsdTarget } from '@nodepool/core/service';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { CommonArguments } from './arguments.js';
import type { ServiceContext } from './program.js';

/** Creates the metrics of this process, sent to the statsd daemon in the environment. @throws NODEPOOL_STATSD */
export function createServiceMetrics(context: ServiceContext<CommonArguments>): Metrics {
  const { env, clock, logger, hostname, version } = context;
  return new Metrics({
    ...{ clock, hostname, version },
    logger: logger.child({}, 'StatsWorker'),
    pid: process.pid,
    statsd: statsdTarget(env),
    processUsage: createProcessUsage(),
  });
}

/** Reads what this process uses; each reading says how busy it was since the one before. */
function createProcessUsage(): () => ProcessUsage {
  const startTimeSeconds = performance.timeOrigin / 1000;
  let last: EventLoopUtilization | undefined;
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed, heapTotal } = process.memoryUsage();
    const now = performance.eventLoopUtilization();
    const { utilization } = last ? performance.eventLoopUtilization(now, last) : now;
    last = now;
    return {
      startTimeSeconds,
      cpuUserSeconds: user / 1e6,
      cpuSystemSeconds: system / 1e6,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      heapTotalBytes: heapTotal,
      eventLoopUtilization: utilization,
      openFiles: countOpenFiles(),
    };
  };
}

function countOpenFiles(): number | undefined {
  try {
    // the folder itself is open while it is read
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined; // only Linux has it
  }
}

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
