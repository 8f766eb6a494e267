import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach } from 'vitest';
import type { RefusedLogins } from '../../src/client/refused-logins.js';
import { OpenStackClient, OpenStackError, readCloud, type CloudSettings } from '../../src/client/index.js';
import type { Logger, OperationMetrics } from '@nodepool/core';
import { systemClock, type Clock, type JsonObject } from '@nodepool/zk-protocol';
import { FakeOpenStack } from '../fake/fake-openstack.js';

/** A signal that never aborts. */
export const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

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

/** See {@link useCloud}. */
export interface CloudOfTests {
  readonly cloud: () => FakeOpenStack;
  readonly client: (options?: TestClientOptions) => OpenStackClient;
  /** Replaces the cloud by one on another clock. */
  readonly renew: (clock: Clock) => Promise<void>;
}

/** A fake cloud for each test of a file, with clients that are closed after the test. */
export function useCloud(): CloudOfTests {
  let cloud: FakeOpenStack;
  const clients: OpenStackClient[] = [];
  beforeEach(async () => {
    cloud = await new FakeOpenStack().listen();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((each) => each.close()));
    await cloud.close();
  });
  return {
    cloud: () => cloud,
    renew: async (clock) => {
      await cloud.close();
      cloud = await new FakeOpenStack(clock).listen();
    },
    client: (options = {}) => {
      const made = connect(cloud, options);
      clients.push(made);
      return made;
    },
  };
}

/** The error of a call that must fail. */
export async function failureOf(promise: Promise<unknown>): Promise<OpenStackError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OpenStackError)) throw new Error(`expected an OpenStackError, got ${String(error)}`);
  return error;
}

/** Id of the server with this number. */
export const serverId = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

/** Adds active servers. */
export function addServers(cloud: FakeOpenStack, count: number): void {
  for (let i = 0; i < count; i++) {
    const id = serverId(i);
    cloud.state.servers.set(id, {
      ...{ id, name: `np${i}`, status: 'ACTIVE', taskState: null, metadata: {}, flavorId: 'f-2', imageId: 'x' },
      ...{ zone: 'nova', keyName: null, userData: undefined, configDrive: false, securityGroups: [], hints: {} },
      ...{ microversion: undefined, devices: [], volumeIds: [], createdMs: 0, fault: undefined },
    });
  }
}
