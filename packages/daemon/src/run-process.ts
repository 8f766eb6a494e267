import { systemClock } from '@nodepool/zk-protocol';
import { watchConfig } from '@nodepool/core/config';
import type { ConfigWatcher } from '@nodepool/core/config';
import type { Logger } from '@nodepool/core';
import type { Logging } from '@nodepool/core/service';
import { tmpdir } from 'node:os';
import type { CommonArguments } from './arguments.js';
import { fullHostname } from './hostname.js';
import { createServiceLogging, profileDirs } from './logging.js';
import type { Program } from './program.js';
import { takePidFile } from './pid-file.js';
import type { PidFile } from './pid-file.js';
import type { DaemonService } from './service.js';
import { ServiceManager } from './service-manager.js';
import type { SignalActions } from './signals.js';
import { handleUncaught } from './uncaught.js';

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

async function stopAndExit(service: DaemonService, held: Held, args: CommonArguments): Promise<void> {
  held.watcher.close();
  void held.manager.stopping();
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS); // the clock's timers alone would not keep the process alive
  await service.stop(args.drainTimeoutMs);
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
      const { drainTimeoutMs } = args;
      const limit = Number.isFinite(drainTimeoutMs) ? { drainTimeoutMs } : {};
      logger.info('Stopping; a second signal exits immediately', { signal, ...limit });
      void stopAndExit(service, held, args);
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
    pidFile = args.foreground ? undefined : await takePidFile(args.pidFile);
    const [watcher, hostname] = await Promise.all([watchFiles(args, logger, () => service), fullHostname()]);
    service = await program.createService({
      args,
      env: process.env,
      clock: systemClock,
      logger,
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
