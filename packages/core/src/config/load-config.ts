import { dirname, resolve } from 'node:path';
import {
  type Clock,
  type Json,
  type JsonObject,
  type Resources,
  systemClock,
  orAbort,
  listOf,
  mapOf,
  numberOf,
  textOf,
} from '@nodepool/zk-protocol';
import { createDriverRegistry } from './discovery/registry.js';
import type { DriverRegistry } from './discovery/registry-types.js';
import { NEVER_ABORTED } from '../async/never-aborted.js';
import type { AccessCheck } from './check-access.js';
import { checkLabelKeys, readLabelKeys } from './label-keys.js';
import { checkSense, type SenseCheck } from './check-sense.js';
import { readDiskimages } from './diskimages.js';
import { reportDuplicates } from './duplicates.js';
import { checkLikelyMistakes } from './likely-mistakes.js';
import { ProblemCollector } from './problems.js';
import { readProviders } from './providers.js';
import { readHistory } from './history-settings.js';
import { namedEntries } from './raw-values.js';
import { readSources } from './read-sources.js';
import { checkReplaced } from './replaced-file.js';
import { checkSchema, type SchemaCheck } from './schema-validator.js';
import { checkSecretFile, checkSecrets } from './secret-checks.js';
import type { SourceDocument } from './source-document.js';
import { tokenKeyFile } from './state-dir/token-key.js';
import { didYouMean } from '../text/suggest.js';
import { SECURE_SCHEMA, TOP_LEVEL_SCHEMA } from './top-level-schema.js';
import type { Config, ConfigMode, LabelConfig } from '../contract/config.js';
import { checkWrittenValues } from './written-values.js';
import { readApiTokens, readTokenKeys } from './web-access.js';
import {
  checkAnonymousLeases,
  checkCertificate,
  checkProxies,
  checkWebhooks,
  readWebapp,
  type WebSection,
} from './web-settings.js';
import { readZooKeeperSettings, type Section } from './zookeeper-settings.js';

/** Options of {@link loadConfig}. */
export interface LoadConfigOptions {
  /** Path of the main file. */
  file: string;
  /** Path of the secure file, if there is one. */
  secureFile?: string | undefined;
  /** Environment for `%(NODEPOOL_X)`; only variables with that prefix are used. Default: empty. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Default: packages installed in the folder of the main file or above it. */
  drivers?: DriverRegistry | undefined;
  mode: ConfigMode;
  /** Whether a provider whose driver is missing is left out instead of an error. Default: by services, not by validation. */
  leavesUnserved?: boolean | undefined;
  /** Whether only providers with images are used, as by a builder: without any, no driver need be there. Default false. */
  imagesOnly?: boolean | undefined;
  /** The web server of this process, which must be able to use its certificate. Default: none. */
  serves?: WebSection | undefined;
  /** Whether keys and kinds of values that the original refuses are errors. Default false. */
  asOriginal?: boolean | undefined;
  /** Asks the clouds what the accounts of providers may not do. Default: nothing is asked. */
  access?: AccessCheck | undefined;
  /** Called with the settings of ZooKeeper once they are read, also if the rest of the configuration is wrong. */
  zookeeperRead?: ((settings: Config['zookeeper']) => void) | undefined;
  /** State directory of the service, for drivers with state. Default: the default directory of this user. */
  stateDir?: string | undefined;
  /** Default: the system clock. */
  clock?: Clock | undefined;
  /** Reads a file, rejects with the error of the system. Default: from the disk. */
  read?: ((file: string) => Promise<Uint8Array>) | undefined;
  /** Aborts loading of drivers, e.g. because the files changed again. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads and validates the configuration, and applies defaults. Can be called repeatedly.
 * @throws {ConfigError} with all problems at once, or the reason of the signal if aborted
 */
export async function loadConfig(options: LoadConfigOptions): Promise<Config> {
  const { file, secureFile, env = {}, mode, clock = systemClock, signal = NEVER_ABORTED, read } = options;
  const drivers = options.drivers ?? createDriverRegistry({ searchFrom: [dirname(resolve(file))], clock });
  const problems = new ProblemCollector();
  const [{ main, secure }] = await Promise.all([
    readSources({ file, secureFile, env, clock, read }, problems),
    orAbort(drivers.reset(), signal),
  ]);

  const top = checkedTopLevel(main, TOP_LEVEL_SCHEMA, { ...options, problems, reveal: true });
  const secureTop = secure && checkedTopLevel(secure, SECURE_SCHEMA, { mode, problems, reveal: false });
  const secureSource = secure && secureTop && { document: secure, top: secureTop };
  const zookeeper = readZooKeeper({ document: main, top }, secureSource, problems);
  if (!problems.errors.some(({ path }) => path.includes('zookeeper'))) options.zookeeperRead?.(zookeeper);
  reportTopLevelDuplicates(top, main, mode, problems);
  checkTopLevel(top, options, { document: main, problems });
  const labels = readLabels(top['labels'], textOf(top['time-zone']));
  const secureEnvVars = secureSource && readSecureEnvVars(secureSource, top, problems);
  const diskimages = readDiskimages(top['diskimages'], secureEnvVars ?? new Map(), main, problems);
  const { drivers: driversOf, ...served } = await readProviders(
    { ...options, document: main, drivers, labels, diskimages, env, problems, signal },
    listOf(top['providers']).map(mapOf),
  );
  checkFiles(main, secure, options, problems);
  checkLikelyMistakes(top, { document: main, labels, ...served, drivers: driversOf, problems });
  problems.throwIfErrors();
  return Object.freeze({
    file,
    zookeeper,
    ...readScalars(top),
    labels,
    diskimages,
    ...served,
    tenantLimits: readTenantLimits(top['tenant-resource-limits']),
    ...{ apiTokens: readApiTokens(secureTop), tokenKeys: readTokenKeys(secureTop) },
    warnings: problems.warnings,
  });
}

/** Top-level map of one file. */
interface TopLevel {
  readonly document: SourceDocument;
  readonly top: JsonObject;
}

/** Reads the connection settings of ZooKeeper. The secure file overrides the main file. */
function readZooKeeper(main: TopLevel, secure: TopLevel | undefined, problems: ProblemCollector) {
  const section = (key: string): Section => {
    const { document, top } = secure !== undefined && key in secure.top ? secure : main;
    return { document, value: top[key] };
  };
  return readZooKeeperSettings(
    {
      servers: section('zookeeper-servers'),
      tls: section('zookeeper-tls'),
      digest: section('zookeeper-digest').value,
      timeout: main.top['zookeeper-timeout'],
      access: main.top['embedded-zookeeper-access'],
      port: main.top['embedded-zookeeper-port'],
    },
    problems,
  );
}

type TopLevelCheck = Pick<SchemaCheck, 'mode' | 'asOriginal' | 'problems' | 'reveal'>;

/** Validates the top level of a file. An empty secure file is an empty map. Checking continues after errors. */
function checkedTopLevel(
  document: SourceDocument,
  schema: JsonObject,
  { mode, asOriginal, ...check }: TopLevelCheck,
): JsonObject {
  const value = document.value ?? {};
  checkSchema({ schema, value, document, path: [], mode, asOriginal, problems: check.problems, reveal: check.reveal });
  return mapOf(value);
}

/** Reports duplicate names. In Nodepool (Python), services use the last entry, and the validator rejects only diskimages. */
function reportTopLevelDuplicates(
  top: JsonObject,
  document: SourceDocument,
  mode: ConfigMode,
  problems: ProblemCollector,
): void {
  const lists = [
    { key: 'labels', noun: 'label', nameKey: 'name', lastCounts: true },
    { key: 'diskimages', noun: 'diskimage', nameKey: 'name', lastCounts: mode === 'service' },
    { key: 'tenant-resource-limits', noun: 'tenant', nameKey: 'tenant-name', lastCounts: true },
  ];
  for (const { key, noun, nameKey, lastCounts } of lists) {
    reportDuplicates(top[key], { noun, document, path: [key], key: nameKey, lastCounts }, problems);
  }
}

/** A service must be able to use its own certificate; `config-validate` may run where the files are not. */
function checkTopLevel(top: JsonObject, { mode, serves }: LoadConfigOptions, check: SenseCheck): void {
  checkSense(top, check);
  checkLabelKeys(top, check);
  checkAnonymousLeases(top, check);
  checkWebhooks(top, check);
  checkSecrets(top, check);
  for (const section of ['webapp', 'builder-webapp'] as const) {
    checkProxies(top, section, check);
    if (mode === 'validate') checkCertificate(top, section, check, 'warning');
    else if (serves === section) checkCertificate(top, section, check, 'error');
  }
}

/** Checks what the files are, beside what their entries say. */
function checkFiles(
  main: SourceDocument,
  secure: SourceDocument | undefined,
  { stateDir }: LoadConfigOptions,
  problems: ProblemCollector,
): void {
  for (const document of secure === undefined ? [main] : [main, secure]) {
    checkWrittenValues(document, problems);
    checkReplaced({ document, problems });
  }
  if (secure) checkSecretFile({ document: secure, problems });
  if (stateDir !== undefined) checkSecretFile({ document: main, problems }, tokenKeyFile(stateDir));
}

function readLabels(list: Json | undefined, timeZone: string | undefined): Map<string, LabelConfig> {
  const labels = namedEntries(list).map(({ name, entry }): [string, LabelConfig] => {
    const minReady = numberOf(entry['min-ready']) ?? 0;
    const maxReadyAgeMs = secondsToMs(entry['max-ready-age']);
    return [name, { name, minReady, maxReadyAgeMs, ...readLabelKeys(entry, timeZone) }];
  });
  return new Map(labels);
}

/** Reads the environment of images from the secure file. It can only extend images of the main file. */
function readSecureEnvVars(
  { document: secure, top: secureTop }: TopLevel,
  top: JsonObject,
  problems: ProblemCollector,
): Map<string, Record<string, string>> {
  const known = namedEntries(top['diskimages']).map(({ name }) => name);
  const envVars = new Map<string, Record<string, string>>();
  for (const { index, name, entry } of namedEntries(secureTop['diskimages'])) {
    if (!known.includes(name)) {
      const message = `diskimage "${name}" is not defined, expected a diskimage of the main file${didYouMean(name, known)}`;
      problems.add(secure, ['diskimages', index, 'name'], message);
    }
    envVars.set(name, { ...envVars.get(name), ...(mapOf(entry['env-vars']) as Record<string, string>) });
  }
  return envVars;
}

function readScalars(top: JsonObject) {
  return {
    webapp: readWebapp(top['webapp'], { port: 8005, listenAddress: '0.0.0.0', socketAccess: 'group' }),
    builderWebapp: readWebapp(top['builder-webapp'], { port: 8006, listenAddress: '127.0.0.1' }),
    elementsDir: textOf(top['elements-dir']),
    imagesDir: textOf(top['images-dir']),
    buildLogDir: textOf(top['build-log-dir']) ?? '/var/log/nodepool/builds',
    trustedDirectories: (top['trusted-directories'] ?? []) as string[],
    buildLogRetention: numberOf(top['build-log-retention']) ?? 7,
    maxHoldAgeMs: secondsToMs(top['max-hold-age']),
    leaseCaKey: textOf(top['lease-ca-key']),
    timeZone: textOf(top['time-zone']),
    steering: top['steering'] !== false,
    history: readHistory(top['history']),
  };
}

/** Converts seconds to milliseconds. Zero, negative and missing values mean no limit. */
function secondsToMs(value: Json | undefined): number {
  return Math.max(0, numberOf(value) ?? 0) * 1000;
}

/** Reads tenant limits. `max-<name>` limits resource `<name>` (`servers`: instances); other keys are resource names. */
function readTenantLimits(list: Json | undefined): Map<string, Resources> {
  const tenants = namedEntries(list, 'tenant-name').map(({ name, entry }): [string, Resources] => {
    const limits: Resources = {};
    for (const [key, value] of Object.entries(entry)) {
      if (typeof value === 'number') limits[TENANT_RESOURCES[key] ?? key] = value;
    }
    return [name, limits];
  });
  return new Map(tenants);
}

const TENANT_RESOURCES: Readonly<Record<string, string>> = {
  'max-servers': 'instances',
  'max-cores': 'cores',
  'max-ram': 'ram',
  'max-volumes': 'volumes',
  'max-volume-gb': 'volume-gb',
};
