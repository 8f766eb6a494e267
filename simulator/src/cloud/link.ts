import {
  callCloud,
  CloudFailure,
  type CallName,
  type CloudCalls,
  type CloudChange,
  type CloudClient,
  type FakeCloud,
} from '@nodepool/driver-fake';
import type { Clock } from '@nodepool/zk-protocol';
import type { CloudWeather } from './weather.js';

/** Calls that take effect late at times. */
const MAY_BE_LATE: ReadonlySet<CallName> = new Set<CallName>(['create', 'remove', 'powerOff', 'powerOn']);

/** What a link connects. */
export interface LinkOptions {
  readonly cloud: FakeCloud;
  readonly weather: CloudWeather;
  /** Clock of the cloud and of messages in flight. */
  readonly worldClock: Clock;
  /** Clock of the caller: a dead or stalled process neither sends nor receives. */
  readonly clock: Clock;
  /** Who may make the call: once that is another, the call is of one who has lost the work. Default: does not change. */
  readonly ownerOf?: (<Name extends CallName>(name: Name, args: CloudCalls[Name][0]) => unknown) | undefined;
  /** Called just before a call takes effect. */
  readonly onCall: <Name extends CallName>(name: Name, args: CloudCalls[Name][0], caller: Caller) => void;
}

/** Who made a call that takes effect. */
export interface Caller {
  /** Whether it awaits the answer still. */
  readonly isWaiting: boolean;
  /** Whether the work is its own still. */
  readonly isOwner: boolean;
}

/**
 * Connection of a launcher to its cloud. Calls take time and may be lost before or after they take effect. Events arrive in
 * order. Responses may arrive out of order, relative to each other and to events, as on separate connections.
 */
export class CloudLink implements CloudClient {
  readonly #options: LinkOptions;
  #isClosed = false;
  #arrivesMs = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]> {
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(reasonOf(signal));
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      const end = (act: () => void) => {
        signal?.removeEventListener('abort', onAbort);
        act();
      };
      this.#options.clock.setTimer(0, () => {
        if (signal?.aborted) return;
        if (this.#isClosed) return end(() => reject(new CloudFailure('unavailable', 'the client is closed')));
        this.#send(
          name,
          args,
          () => signal?.aborted !== true,
          (result) => end(() => resolve(result)),
          (error) => end(() => reject(error)),
        );
      });
    });
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#later(this.#options.weather.delayMs(), resolve));
  }

  onChange(listener: (change: CloudChange) => void): () => void {
    return this.#options.cloud.onChange((event) => this.#inOrder(() => listener(event)));
  }

  close(): void {
    this.#isClosed = true;
  }

  #send<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    isAwaited: () => boolean,
    resolve: (result: CloudCalls[Name][1]) => void,
    reject: (error: Error) => void,
  ): void {
    const { cloud, weather, worldClock, onCall, ownerOf } = this.#options;
    const owner = ownerOf?.(name, args);
    const isOwner = () => ownerOf?.(name, args) === owner;
    const isLost = weather.losesCall();
    const isAnswerLost = weather.losesAnswer();
    const lateMs = MAY_BE_LATE.has(name) ? weather.latenessMs() : undefined;
    const giveUp = () => this.#later(weather.silenceMs(), () => reject(new CloudFailure('reset', 'no answer came')));
    if (lateMs !== undefined) {
      giveUp();
      worldClock.setTimer(weather.patienceMs + lateMs, () => {
        onCall(name, args, { isWaiting: false, isOwner: isOwner() });
        answerOf(() => callCloud(cloud, worldClock, name, args)).catch(() => undefined); // its caller hears nothing
      });
      return;
    }
    worldClock.setTimer(weather.delayMs(), () => {
      if (isLost) return giveUp();
      const isBroken =
        name === 'create' && weather.brokenFlavor !== undefined && flavorOf(args) === weather.brokenFlavor;
      if (isBroken && weather.isBrokenSlow) return;
      answerOf(() => {
        if (isBroken) throw new CloudFailure('failed', `instances of flavor ${weather.brokenFlavor} cannot be made`);
        onCall(name, args, { isWaiting: isAwaited(), isOwner: isOwner() });
        return callCloud(cloud, worldClock, name, args);
      }).then(
        (result) => (isAnswerLost ? giveUp() : this.#later(weather.delayMs(), () => resolve(result))),
        (error: unknown) => (isAnswerLost ? giveUp() : this.#later(weather.delayMs(), () => reject(toError(error)))),
      );
    });
  }

  #inOrder(act: () => void): void {
    const { weather, worldClock } = this.#options;
    const nowMs = worldClock.now();
    this.#arrivesMs = Math.max(this.#arrivesMs, nowMs + weather.delayMs());
    this.#later(this.#arrivesMs - nowMs, act);
  }

  #later(ms: number, act: () => void): void {
    const { clock, worldClock } = this.#options;
    worldClock.setTimer(ms, () => void clock.setTimer(0, act));
  }
}

function flavorOf(order: CloudCalls[CallName][0]): string | undefined {
  return typeof order === 'object' && order !== null && 'flavor' in order ? order.flavor : undefined;
}

async function answerOf<T>(call: () => T | Promise<T>): Promise<T> {
  return call();
}

function reasonOf(signal: AbortSignal | undefined): Error {
  return toError(signal?.reason);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
