import { currentDriverScope } from '@nodepool/core/launcher';

/**
 * Node before 24 forgets on whose behalf a function given to `queueMicrotask` ran when it throws. What a driver throws there
 * would then end the process, so the driver's scope is told at once. Where Node remembers, nothing changes.
 */
export function attributeMicrotasks(): void {
  if (Number(process.versions.node.split('.')[0]) >= 24) return;
  const queue = globalThis.queueMicrotask;
  globalThis.queueMicrotask = (run) => {
    const scope = currentDriverScope();
    if (!scope || typeof run !== 'function') {
      queue(run);
      return;
    }
    queue(() => {
      try {
        run();
      } catch (error) {
        scope.fault('uncaught exception', error);
      }
    });
  };
}
