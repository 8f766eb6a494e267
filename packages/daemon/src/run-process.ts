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

/** What the service manager shows; whether requests are served is what `/ready` says. */
const RUNNING = 'Running; /ready on the web port says whether it serves';

/** What must be let go of at the end. */
interface Held {
  readonly logging: Logging;
  readonly pidFile: PidFile | undefined;
  readonly watcher: ConfigWatcher;
  readonly manager: ServiceManager;
}

async function stopAndExit(service: DaemonService, held: Held, args: CommonArguments): Promise<void> {
  held.watcher.close();
  void held.manager.stopping();
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS); // timers alone would let the process end half-way
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
      logger.info('Stopping; a second signal ends at once', { signal, ...limit });
      void stopAndExit(service, held, args);
    },
    stopNow(signal) {
      logger.warn('Ended at once; others clean up when the session is over', { signal });
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

/** Ends the process when the service cannot start. */
function startInBackground(service: DaemonService, logging: Logging): void {
  service.start().catch((error: unknown) => {
    if (service.stopping) return; // The stop ended the start, and ends the process.
    logging.logger.error('The service could not start', { error });
    logging.close();
    process.exit(1);
  });
}

/** Reloads the service when a file changes that its configuration was read from. */
function watchFiles(
  { configFile, secureFile }: CommonArguments,
  logger: Logger,
  service: () => DaemonService | undefined,
): Promise<ConfigWatcher> {
  return watchConfig({
    files: [configFile, ...(secureFile === undefined ? [] : [secureFile])],
    moreFiles: () => service()?.providerFiles ?? [],
    clock: systemClock,
    logger,
    onChange: () => void service()?.reload(),
  });
}

/**
 * Brings a service up in this process. Resolves once its configuration is read and it answers the web; it continues
 * starting in the background, as that may wait for ZooKeeper indefinitely.
 * @returns what signals do from now on
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
    void watcher.check(); // from now on with the files of providers
    const manager = new ServiceManager({
      env: process.env,
      onError: (error) => logger.warn('The service manager could not be told', { error }),
    });
    void manager.ready(RUNNING);
    return signalActions(service, { logging, pidFile, watcher, manager }, args);
  } catch (error) {
    await pidFile?.release();
    logging.close();
    throw error;
  }
}
