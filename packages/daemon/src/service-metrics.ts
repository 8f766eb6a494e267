import { Metrics } from '@nodepool/core/service';
import type { CommonArguments } from './arguments.js';
import type { ServiceSurroundings } from './program.js';
import { createProcessUsage } from './process-usage.js';
import { statsdTarget } from './statsd-target.js';

/** Creates the metrics of this process, sent to the statsd daemon in the environment. @throws NODEPOOL_STATSD */
export function createServiceMetrics(surroundings: ServiceSurroundings<CommonArguments>): Metrics {
  const { env, clock, logger, hostname, version } = surroundings;
  return new Metrics({
    ...{ clock, hostname, version },
    logger: logger.child({}, 'StatsWorker'),
    pid: process.pid,
    statsd: statsdTarget(env),
    processUsage: createProcessUsage(),
  });
}
