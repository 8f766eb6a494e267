import type { RefusedLogins } from '../../src/client/refused-logins.js';
import { OpenStackClient, readCloud, type CloudSettings } from '../../src/client/index.js';
import type { Logger, OperationMetrics } from '@nodepool/core';
import { systemClock, type Clock, type JsonObject } from '@nodepool/zk-protocol';
import type { FakeOpenStack } from '../fake/fake-openstack.js';

/** One log line. */
export interface LogLine {
  readonly message: string;
  readonly fields: unknown;
}

/** A logger that keeps what is said. */
export function keepLines(lines: LogLine[]): Logger {
  const keep = (message: string, fields?: unknown) => void lines.push({ message, fields });
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return logger;
}

/** Settings of an entry, as if it were the only one in clouds.yaml. */
export function settingsOf(entry: JsonObject, region?: string): CloudSettings {
  return readCloud({ clouds: { fake: entry }, publicClouds: {}, top: {}, files: ['clouds.yaml'] }, 'fake', region)
    .settings;
}

/** What a test client may differ in. */
export interface TestClientOptions {
  readonly entry?: JsonObject;
  readonly clock?: Clock;
  readonly lines?: LogLine[];
  readonly metrics?: OperationMetrics;
  readonly requestsPerSecond?: number;
  readonly logins?: RefusedLogins;
}

/** A client of a fake cloud, over HTTP. */
export function connect(cloud: FakeOpenStack, options: TestClientOptions = {}): OpenStackClient {
  return new OpenStackClient({
    settings: settingsOf({ ...cloud.entry, ...options.entry }),
    clock: options.clock ?? systemClock,
    logger: keepLines(options.lines ?? []),
    name: 'sky',
    metrics: options.metrics,
    requestsPerSecond: options.requestsPerSecond,
    random: () => 0.5,
    logins: options.logins,
  });
}
