import type { Clock } from '@nodepool/zk-protocol';
import type { LogFields, Logger } from '@nodepool/core';

/** Trace of a run, limited to the last lines. */
export class Trace {
  readonly #lines: string[] = [];
  readonly #clock: Clock;
  readonly #startMs: number;
  /** @param isOn - `false` records nothing, which is several times faster */
  constructor(
    clock: Clock,
    readonly isOn: boolean,
  ) {
    this.#clock = clock;
    this.#startMs = clock.now();
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  add(who: string, what: string | (() => string)): void {
    if (!this.isOn) return;
    const time = ((this.#clock.now() - this.#startMs) / 1000).toFixed(4).padStart(10);
    this.#lines.push(`${time} ${who.padEnd(10)} ${typeof what === 'string' ? what : what()}`);
  }

  /** A logger of one process. `onError` is called for every line at level error. */
  logger(who: string, onError: (message: string, fields: LogFields | undefined) => void): Logger {
    const log = (level: string, base: LogFields) => (message: string, fields?: LogFields) => {
      if (level === 'error') onError(message, fields);
      this.add(who, () => `${level}: ${message}${describe({ ...base, ...fields })}`);
    };
    const make = (base: LogFields): Logger => ({
      debug: log('debug', base),
      info: log('info', base),
      warn: log('warn', base),
      error: log('error', base),
      child: (fields) => make({ ...base, ...fields }),
    });
    return make({});
  }
}

function describe(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(
      ([key, value]) => ` ${key}=${value instanceof Error ? `${value.name}: ${value.message}` : JSON.stringify(value)}`,
    )
    .join('');
}
