import { tmpdir, hostname } from 'node:os';
import { lookup } from 'node:dns/promises';
import { systemClock } from '@nodepool/zk-protocol';
import { watchConfig } from '@nodepool/core/config';
import type { ConfigWatcher } from '@nodepool/core/config';
import type { Logger } from '@nodepool/core';
import type { Logging } from '@nodepool/core/service';
import { currentDriverScope } from '@nodepool/core/launcher';
import type { FaultKind } from '@nodepool/core/launcher';
import { createServiceLogging, profileDirs } from './logging.js';
import type { CommonArguments } from './arguments.js';
import type { Program } from './program.js';
import { takePidFile } from './pid-file.js';
import type { PidFile } from './pid-file.js';
import type { DaemonService } from './service.js';
import { ServiceManager } from './service-manager.js';
import type { SignalActions } from './signals.js';

const KEEP_ALIVE_MS = 2 ** 30;

/** Status shown by the service manager. */
const RUNNING = 'Running; /ready on the web port reports whether it serves requests';

/** Resources to release at the end. */
interface Held {
  readonly logging: Logging;
  readonly pidFile: PidFile | undefined;
  readonly watcher: ConfigWatcher;
  readonly manager: ServiceManager;
}

async function stopAndExit(stop: () => Promise<void>, held: Held): Promise<void> {
  held.watcher.close();
  void held.manager.stopping();
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS); // the clock's timers alone would not keep the process alive
  await stop();
  clearInterval(keepAlive);
  await held.pidFile?.release();
  await held.manager.close();
  held.logging.close();
  process.exit(0);
}

function signalActions(service: DaemonService, held: Held, args: CommonArguments): SignalActions {
  const { logger } = held.logging;
  return {
    stop(signal) {
      if (signal === 'SIGQUIT') {
        logger.info('Stopping at once; work in progress is left to others', { signal });
        void stopAndExit(() => service.handOver(), held);
        return;
      }
      const { drainTimeoutMs } = args;
      const limit = Number.isFinite(drainTimeoutMs) ? { drainTimeoutMs } : {};
      logger.info('Stopping; a second signal exits immediately', { signal, ...limit });
      void stopAndExit(() => service.stop(drainTimeoutMs), held);
    },
    stopNow(signal) {
      logger.warn('Forced exit; other launchers will clean up after the ZooKeeper session expires', { signal });
      held.logging.close();
      process.exit(0);
    },
    reload() {
      logger.info('Reloading the configuration', { signal: 'SIGHUP' });
      void held.manager.reloading();
      void service.reload().then(() => held.manager.ready(RUNNING));
    },
    dump: () => void service.dump(),
  };
}

/** Starts the service; exits the process if that fails. */
function startInBackground(service: DaemonService, logging: Logging): void {
  service.start().catch((error: unknown) => {
    if (service.stopping) return; // the stop aborted the start and will exit the process
    logging.logger.error('Failed to start the service', { error });
    logging.close();
    process.exit(1);
  });
}

/** Reloads the service when a file of its configuration changes. */
function watchFiles(
  { configFile, secureFile }: CommonArguments,
  logger: Logger,
  service: () => DaemonService | undefined,
): Promise<ConfigWatcher> {
  return watchConfig({
    files: [configFile, ...(secureFile === undefined ? [] : [secureFile])],
    moreFiles: () => service()?.moreFiles ?? [],
    clock: systemClock,
    logger,
    onChange: () => void service()?.reload(),
  });
}

/**
 * Starts a service in this process. Resolves once the configuration is read and the web server listens. The start continues in
 * the background, as it may wait for ZooKeeper indefinitely.
 * @returns actions for signals
 */
export async function runProcess<Args extends CommonArguments>(
  program: Program<Args>,
  args: Args,
): Promise<SignalActions> {
  const { commandLine, version, logFile } = program;
  const logging = createServiceLogging(args, logFile);
  handleUncaught(commandLine.name, logging);
  const { logger } = logging;
  let pidFile: PidFile | undefined;
  let service: DaemonService | undefined;
  try {
    if (!args.foreground) pidFile = await takePidFile(args.pidFile);
    const [watcher, hostname] = await Promise.all([watchFiles(args, logger, () => service), fullHostname()]);
    service = await program.createService({
      args,
      env: process.env,
      clock: systemClock,
      logger,
      logFailures: logging.failures,
      version,
      hostname,
      profileDirs: profileDirs(args, logFile, tmpdir()),
    });
    startInBackground(service, logging);
    void watcher.check(); // includes the files of providers and the certificate now
    const manager = new ServiceManager({
      env: process.env,
      onError: (error) => logger.warn('Failed to notify systemd', { error }),
    });
    void manager.ready(RUNNING);
    return signalActions(service, { logging, pidFile, watcher, manager }, args);
  } catch (error) {
    await pidFile?.release();
    logging.close();
    throw error;
  }
}

/** A resolver that does not answer must not delay the start. */
const LOOKUP_MS = 200;

/** The canonical name of an address lookup, where the platform gives one. */
async function canonicalName(name: string): Promise<string | undefined> {
  const { lookupService } = await import('node:dns/promises');
  const { address } = await lookup(name);
  return (await lookupService(address, 0)).hostname;
}

/**
 * Fully qualified name of this host: the host name if it has a dot, else the canonical name of its address if that begins with
 * the host name. Falls back to the host name.
 */
async function fullHostname(): Promise<string> {
  const short = hostname();
  if (short.includes('.')) return short;
  const timeout = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LOOKUP_MS).unref());
  const found = await Promise.race([canonicalName(short).catch(() => undefined), timeout]);
  return found?.startsWith(`${short}.`) === true ? found : short;
}

const TEXTS: Readonly<Record<FaultKind, string>> = {
  'uncaught exception': 'Uncaught exception; the process exits',
  'unhandled rejection': 'Unhandled rejection; the process exits',
};

/**
 * Handles uncaught errors. An error of a driver restarts its provider. Any other error ends the process, because a service
 * that works only in part is worse: its session expires, other services take over, and the supervisor restarts it.
 */
function handleUncaught(name: string, { logger, close }: Logging): void {
  const onError = (kind: FaultKind) => (error: unknown) => {
    const scope = currentDriverScope();
    if (scope) {
      scope.fault(kind, error);
      return;
    }
    logger.error(TEXTS[kind], { program: name, error, stack: error instanceof Error ? error.stack : String(error) });
    close();
    process.exit(1);
  };
  process.on('uncaughtException', onError('uncaught exception'));
  process.on('unhandledRejection', onError('unhandled rejection'));
}
