import { currentDriverScope } from '@nodepool/core/launcher';
import type { FaultKind } from '@nodepool/core/launcher';
import type { Logging } from '@nodepool/core/service';

const TEXTS: Readonly<Record<FaultKind, string>> = {
  'uncaught exception': 'Uncaught exception; the process exits',
  'unhandled rejection': 'Unhandled rejection; the process exits',
};

/**
 * Handles uncaught errors. An error of a driver restarts its provider. Any other error ends the process, because a service
 * that works only in part is worse: its session expires, other services take over, and the supervisor restarts it.
 */
export function handleUncaught(name: string, { logger, close }: Logging): void {
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
