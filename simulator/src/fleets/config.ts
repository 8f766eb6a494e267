import type { Config, Driver, LabelConfig } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import type { Json, JsonObject, Resources } from '@nodepool/zk-protocol';

/** A shortened configuration. */
export interface ConfigSpec {
  readonly labels: readonly {
    name: string;
    minReady?: number;
    maxReadyAgeMs?: number;
    standby?: { readonly atMost: number } | undefined;
    keep?: 'stopped';
  }[];
  readonly maxHoldAgeMs: number;
  readonly tenantLimits: ReadonlyMap<string, Resources>;
  /** Whether launchers avoid failing providers. Default: true. */
  readonly steering?: boolean;
  /** Provider entries as in the file. */
  readonly providers: readonly JsonObject[];
}

/** The simulator gives launchers numbers instead of forecasts. */
const GOAL = { targetWaitMs: 5_000, idleBudget: undefined };

/** Builds the configuration that a launcher would load from its file. @throws {Error} a driver rejects it */
export function makeConfig(spec: ConfigSpec, drivers: ReadonlyMap<string, Driver>): Config {
  const labels = new Map<string, LabelConfig>(
    spec.labels.map(({ name, minReady = 0, maxReadyAgeMs = 0, standby, keep }) => [
      name,
      { name, minReady, maxReadyAgeMs, keep, ...(standby && { standby: { ...GOAL, ...standby } }) },
    ]),
  );
  const providers = new Map(
    spec.providers.map((entry) => {
      const name = textOf(entry['name']);
      const driver = drivers.get(textOf(entry['driver']));
      if (driver === undefined) throw new Error(`no driver ${textOf(entry['driver'])}`);
      const problem = (_path: readonly (string | number)[], message: string) => {
        throw new Error(`provider ${name}: ${message}`);
      };
      return [name, driver.getProviderConfig(entry, { labels, diskimages: new Map(), problem })];
    }),
  );
  return {
    file: 'nodepool.yaml',
    zookeeper: { servers: [], tls: undefined, digest: undefined, sessionTimeoutMs: 10_000, embeddedAccess: 'owner' },
    webapp: { port: 0, listenAddress: '' },
    builderWebapp: { port: 0, listenAddress: '' },
    elementsDir: undefined,
    imagesDir: undefined,
    buildLogDir: '',
    buildLogRetention: 0,
    labels,
    diskimages: new Map(),
    providers,
    maxHoldAgeMs: spec.maxHoldAgeMs,
    tenantLimits: spec.tenantLimits,
    apiTokens: [],
    tokenKeys: [],
    webhooks: [],
    warnings: [],
    ...(spec.steering !== undefined && { steering: spec.steering }),
  };
}

/** A registry of the given drivers. */
export function makeRegistry(drivers: ReadonlyMap<string, Driver>): DriverRegistry {
  return {
    get: (name) => {
      const driver = drivers.get(name);
      return driver === undefined ? Promise.reject(new Error(`no driver ${name}`)) : Promise.resolve(driver);
    },
    reset: () => Promise.resolve(),
    loaded: () => [],
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
