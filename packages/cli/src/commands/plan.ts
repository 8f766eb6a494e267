import { access, realpath } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Config, Driver, ProviderConfig } from '@nodepool/core';
import { createDriverRegistry, formatProblem, newlyUnserved } from '@nodepool/core/config';
import type { DriverRegistry } from '@nodepool/core/config';
import { Observer, planConfigChange, registryAfter } from '@nodepool/core/launcher';
import type { ConfigChange } from '@nodepool/core/launcher';
import { configChangeToJson, configChangeToText } from '@nodepool/core/service';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { DEFAULT_CONFIG } from '../command/global-options.js';
import { UsageError } from '../command/usage-error.js';
import { loadCheckedConfig, showProblems } from '../configuration/problems.js';
import { driverPlaces, loadFullConfig } from '../connection/config.js';
import { withZooKeeper } from '../connection/connection.js';
import { printValue } from '../terminal/output.js';

/** `nodepool plan`. */
export const command = defineCommand({
  options: {
    offline: { type: 'boolean', default: false, describe: 'compare the two files, without ZooKeeper, as for a review' },
    current: {
      type: 'string',
      requiresArg: true,
      value: 'FILE',
      describe: `configuration in force [${DEFAULT_CONFIG}]`,
    },
  },
  parse(values) {
    if (text(values, 'c') === undefined) {
      throw new UsageError('plan needs the new configuration: nodepool plan -c FILE');
    }
    const [currentFile, offline] = [text(values, 'current'), flag(values, 'offline')];
    if (offline && currentFile === undefined) {
      throw new UsageError('plan --offline needs both files: nodepool plan --offline --current OLD -c NEW');
    }
    return { currentFile, offline };
  },
  run: plan,
});

const DEFAULT_CURRENT = '/etc/nodepool/nodepool.yaml';
/** Reading a large system takes longer than connecting to it. */
const READ_FACTOR = 6;

/** The configuration in force, and a context that names it. */
interface Current {
  readonly context: CliContext;
  readonly config: Config;
}

/** Arguments of `nodepool plan`. */
interface PlanArguments {
  readonly currentFile: string | undefined;
  /** Compare two files, without ZooKeeper. */
  readonly offline: boolean;
}

/**
 * `nodepool plan`: what the configuration named by `-c` would change in the live system.
 * @returns the exit status: 1 when that configuration is not valid, or services would refuse the change
 */
async function plan(context: CliContext, args: PlanArguments): Promise<number> {
  const registry = createDriverRegistry(driverPlaces(context.options.configFile));
  const next = await loadCheckedConfig(context, registry);
  if (!next) return 1;
  const current = await loadCurrent(context, args.currentFile, registry);
  const refused = current ? newlyUnserved(current.config, next) : [];
  if (refused.length > 0) {
    showProblems(context, refused);
    return 1;
  }
  for (const { problem } of next.unserved?.values() ?? []) inform(formatProblem(problem));
  if (args.offline && current) {
    show(context, await compareFiles(current.config, next, registry), { isOffline: true });
    return 0;
  }
  const change = await withZooKeeper(current?.context ?? context, (zk) =>
    planOn({ ...context, zk }, registry, current?.config, next),
  );
  show(context, change, { isOffline: false });
  return 0;
}

function show(context: CliContext, change: ConfigChange, options: { readonly isOffline: boolean }): void {
  if (context.options.format !== 'table') printValue(context, configChangeToJson(change));
  else print(configChangeToText(change, options));
}

/** What differs between two files: pools count as registered as configured, and there are no nodes and requests. */
async function compareFiles(before: Config, after: Config, registry: DriverRegistry): Promise<ConfigChange> {
  const drivers = await driversOf([before, after], registry);
  const registers = (config: ProviderConfig | undefined) =>
    (config && drivers.get(config.driverName)?.previewChange?.(config, [], [])?.register) ?? [];
  const offer = (config: Config) => ({ registered: registryAfter(undefined, config, []), views: [] });
  return planConfigChange({
    ...{ before, after, nodes: [], requests: [], nowMs: 0 },
    ...{ offerBefore: offer(before), offerAfter: offer(after) },
    preview(config) {
      const old = new Set(registers(before.providers.get(config.name)).map((each) => JSON.stringify(each)));
      return { register: registers(config).filter((each) => !old.has(JSON.stringify(each))), delete: [] };
    },
  });
}

async function loadCurrent(
  context: CliContext,
  named: string | undefined,
  registry: DriverRegistry,
): Promise<Current | undefined> {
  const file = named ?? (await presentDefault(context.options.configFile));
  if (file === undefined) {
    inform(
      'nodepool: compared with the registered pools only: name the configuration in force with --current to compare limits ' +
        'and provider settings too',
    );
    return undefined;
  }
  const options = { ...context.options, configFile: file, configFileNamed: true };
  const currentContext = { ...context, options };
  try {
    return { context: currentContext, config: await loadFullConfig(currentContext, registry) };
  } catch (error) {
    if (!isNodepoolError(error)) throw error;
    if (named !== undefined) throw new CliError(`--current: ${describeError(error)}`, { cause: error });
    inform(`nodepool: compared with the registered pools only: ${describeError(error)}`);
    return undefined;
  }
}

/** The default configuration, unless it is missing or the one to plan for. */
async function presentDefault(nextFile: string): Promise<string | undefined> {
  try {
    await access(DEFAULT_CURRENT);
    return (await realpath(nextFile)) === (await realpath(DEFAULT_CURRENT)) ? undefined : DEFAULT_CURRENT;
  } catch {
    return undefined; // Missing or not readable: planning continues without it.
  }
}

async function planOn(
  { zk, logger, clock, options }: CliContext & { zk: ZooKeeper },
  registry: DriverRegistry,
  before: Config | undefined,
  after: Config,
): Promise<ConfigChange> {
  const observer = new Observer({ zk, registry, logger, clock, hostname: hostname() });
  try {
    const sideBefore = before && (await observer.add(before));
    const sideAfter = await observer.add(after);
    await observer.start(AbortSignal.timeout(options.connectTimeoutMs * READ_FACTOR));
    const { pools: registered } = observer;
    const present = new Set<string>(registered.map((pool) => pool.launcherId));
    const nextPools = registryAfter(before, after, registered);
    const drivers = await driversOf([after, ...(before ? [before] : [])], registry);
    return planConfigChange({
      before,
      after,
      nodes: [...observer.nodes.values()],
      requests: [...observer.requests.values()],
      offerBefore: {
        registered,
        views: (sideBefore?.views(registered) ?? []).filter((v) => present.has(v.launcherId)),
      },
      offerAfter: { registered: nextPools, views: sideAfter.views(nextPools) },
      nowMs: clock.now(),
      preview: (config: ProviderConfig, nodes: readonly NodeRecord[], all: readonly NodeRecord[]) =>
        drivers.get(config.driverName)?.previewChange?.(config, nodes, all),
    });
  } finally {
    observer.stop();
  }
}

async function driversOf(configs: readonly Config[], registry: DriverRegistry): Promise<Map<string, Driver>> {
  const names = new Set(
    configs.flatMap(({ providers }) => [...providers.values()].map(({ driverName }) => driverName)),
  );
  return new Map(await Promise.all([...names].map(async (name) => [name, await registry.get(name)] as const)));
}
