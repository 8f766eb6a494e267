/** Actions for signals. They must not throw. */
export interface SignalActions {
  /** First INT, TERM or USR1: graceful stop. QUIT: a stop that leaves all work to a successor. */
  stop(signal: string): void;
  /** The second of these signals: immediate exit. */
  stopNow(signal: string): void;
  /** HUP. */
  reload(): void;
  /** USR2. */
  dump(): void;
}

/**
 * Routes signals to actions. Must be installed early: without it USR1 opens Node's debugger and the others kill.
 * @returns a function that removes the handlers
 */
export function installSignals(actions: SignalActions): () => void {
  let stopping = false;
  const onStop = (signal: string) => {
    if (stopping) {
      actions.stopNow(signal);
      return;
    }
    stopping = true;
    actions.stop(signal);
  };
  const handlers: [NodeJS.Signals, (signal: string) => void][] = [
    ['SIGINT', onStop],
    ['SIGTERM', onStop],
    ['SIGUSR1', onStop],
    ['SIGQUIT', onStop],
    ['SIGHUP', () => actions.reload()],
    ['SIGUSR2', () => actions.dump()],
  ];
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}
