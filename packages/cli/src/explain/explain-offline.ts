import { hostname } from 'node:os';
import { createDriverRegistry } from '@nodepool/core/config';
import { Observer } from '@nodepool/core/launcher';
import type { ExplainSubject, RequestExplanation } from '@nodepool/core/launcher';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { driverPlaces, loadFullConfig } from '../connection/config.js';
import type { CliContext } from '../command/context.js';

/** Explains from ZooKeeper and the configuration alone. Nothing is registered or written. @throws ConfigError */
export async function explainOffline(
  context: CliContext,
  zk: ZooKeeper,
  subject: ExplainSubject,
): Promise<RequestExplanation | undefined> {
  const { logger, clock, options } = context;
  const registry = createDriverRegistry(driverPlaces(options.configFile));
  const config = await loadFullConfig(context, registry);
  const observer = new Observer({ zk, registry, logger, clock, hostname: hostname() });
  try {
    const observed = await observer.add(config);
    await observer.start(AbortSignal.timeout(options.connectTimeoutMs * 3));
    return observed.explain(subject);
  } finally {
    observer.stop();
  }
}
