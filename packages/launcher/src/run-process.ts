import { systemClock } from '@nodepool/zk-protocol';
import { watchConfig } from '@nodepool/core';
import type { ConfigWatcher, Logging } from '@nodepool/core';
import type { LauncherArguments } from './arguments.js';
import { fullHostname } from './hostname.js';
import { createLauncherLogging } from './logging.js';
import { takePidFile } from './pid-file.js';
import type { PidFile } from './pid-file.js';
import type { LauncherService } from './service.js';
import type { SignalActions } from './signals.js';
import { createService } from './start-service.js';

/** What must be let go of at the end. */
interface Held {
  readonly logging: Logging;
  readonly pidFile: PidFile | undefined;
  readonly watcher: ConfigWatcher;
}

/** A bug must not leave a half-working launcher behind: its session ends, others take over, a supervisor starts it anew. */
function exitOnUncaught({ logger, close }: Logging): void {
  const onError = (kind: string) => (error: unknown) => {
    logger.error(`${kind}; the launcher exits`, { error, stack: error instanceof Error ? error.stack : String(error) });
    close();
    process.exit(1);
  };
  process.on('uncaughtException', onError('Uncaught exception'));
  process.on('unhandledRejection', onError('Unhandled rejection'));
}

async function stopAndExit(service: LauncherService, held: Held, args: LauncherArguments): Promise<void> {
  const { logger } = held.logging;
  held.watcher.close();
  try {
    await service.stop(args.drainTimeoutMs);
  } catch (error) {
    logger.error('Stopping failed; the session ends with the process', { error });
  }
  await held.pidFile?.release();
  held.logging.close();
  process.exit(0);
}

function signalActions(service: LauncherService, held: Held, args: LauncherArguments): SignalActions {
  const { logger } = held.logging;
  return {
    stop(signal) {
      logger.info('Stopping; a second signal ends at once', { signal, drainTimeoutMs: args.drainTimeoutMs });
      void stopAndExit(service, held, args);
    },
    stopNow(signal) {
      logger.warn('Ended at once; others clean up when the session is over', { signal });
      held.logging.close();
      process.exit(0);
    },
    reload() {
      logger.info('Reloading the configuration', { signal: 'SIGHUP' });
      void service.reload();
    },
    dump: () => void service.dump(),
  };
}

/**
 * Brings the launcher up in this process. Resolves once its configuration is read and it answers the web; it goes on
 * starting in the background, as that may wait for ZooKeeper for ever.
 * @returns what signals do from now on
 */
export async function runProcess(args: LauncherArguments, version: string): Promise<SignalActions> {
  const logging = createLauncherLogging(args);
  exitOnUncaught(logging);
  const { logger } = logging;
  let pidFile: PidFile | undefined;
  let service: LauncherService | undefined;
  try {
    pidFile = args.foreground ? undefined : await takePidFile(args.pidFile);
    const files = [args.configFile, ...(args.secureFile === undefined ? [] : [args.secureFile])];
    const [watcher, hostname] = await Promise.all([
      watchConfig({ files, clock: systemClock, logger, onChange: () => void service?.reload() }),
      fullHostname(),
    ]);
    service = await createService({
      args,
      env: process.env,
      clock: systemClock,
      logger,
      version,
      hostname,
    });
    const started = service;
    started.start().catch((error: unknown) => {
      if (started.stopping) return; // The stop ended the start, and ends the process.
      logger.error('The launcher could not start', { error });
      logging.close();
      process.exit(1);
    });
    return signalActions(service, { logging, pidFile, watcher }, args);
  } catch (error) {
    await pidFile?.release();
    logging.close();
    throw error;
  }
}
