import { execFile } from 'node:child_process';

/** Options of {@link ServiceManager}. */
export interface ServiceManagerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onError: (error: Error) => void;
}

/** systemd wants to hear from us at least so often; twice as often is what its manual advises. */
function pingIntervalMs({ WATCHDOG_USEC: text }: ServiceManagerOptions['env']): number | undefined {
  const usec = Number(text);
  return Number.isFinite(usec) && usec > 0 ? usec / 2000 : undefined;
}

/**
 * Tells systemd how the process is, as `Type=notify` wants it: through the program `systemd-notify`, as Node has no sockets of that
 * kind. Without `NOTIFY_SOCKET` in the environment it does nothing. Pings come from the event loop, so that a loop that
 * hangs is noticed.
 */
export class ServiceManager {
  readonly #options: ServiceManagerOptions;
  #ping: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(options: ServiceManagerOptions) {
    this.#options = options;
  }

  /** Reports that the service is running. */
  ready(status: string): Promise<void> {
    const intervalMs = pingIntervalMs(this.#options.env);
    if (intervalMs !== undefined) {
      this.#ping ??= setInterval(() => void this.#notify('WATCHDOG=1'), intervalMs).unref();
    }
    return this.#notify('READY=1', `STATUS=${status}`);
  }

  /** Reports the start of a reload; {@link ServiceManager.ready} reports its end. */
  reloading(): Promise<void> {
    return this.#notify('RELOADING=1', 'STATUS=Reloading the configuration');
  }

  /** Reports that the service is stopping. */
  stopping(): Promise<void> {
    return this.#notify('STOPPING=1', 'STATUS=Stopping');
  }

  /** Sends no more messages; resolves when all sent messages were delivered. */
  close(): Promise<void> {
    clearInterval(this.#ping);
    return this.#last;
  }

  /** Sends messages one after the other, to keep their order. */
  #notify(...words: string[]): Promise<void> {
    const { env, onError } = this.#options;
    if (env['NOTIFY_SOCKET'] === undefined) return this.#last;
    this.#last = this.#last.then(
      () =>
        new Promise((resolve) => {
          execFile('systemd-notify', words, { env: { ...env }, timeout: 10_000 }, (error) => {
            if (error) onError(error);
            resolve();
          });
        }),
    );
    return this.#last;
  }
}
