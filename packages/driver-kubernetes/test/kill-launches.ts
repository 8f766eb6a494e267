import { World, type WorldOptions } from './world.js';
import type { Http } from '../src/index.js';

/** As many as a launch makes, and some that are refused and made again. */
const MOST_CALLS = 9;

/** What became of a launch whose launcher was to die at its call `at`. */
export interface Killed {
  readonly at: number;
  /** The kill hit a live process. */
  readonly hasDied: boolean;
  /** Calls that change something, as many as it made. */
  readonly writes: number;
}

/** A connection that counts its writes and dies with the process at one: before it, or when its answer has arrived. */
class DyingHttp {
  writes = 0;
  readonly #at: number;
  readonly #isBefore: boolean;
  readonly #die: () => void;

  constructor(at: number, isBefore: boolean, die: () => void) {
    this.#at = at;
    this.#isBefore = isBefore;
    this.#die = die;
  }

  around(http: Http): Http {
    return {
      ...{ login: () => http.login(), watch: (call, signal) => http.watch(call, signal), close: () => http.close() },
      call: async (call, signal) => {
        const isWrite = call.verb === 'POST' && !call.path.endsWith('/selfsubjectrulesreviews');
        const isLast = isWrite && ++this.writes === this.#at;
        if (isLast && this.#isBefore) this.#die();
        // a refusal is an answer too: a pod that comes before its account is refused, and made again
        const answer = await http.call<never>(call, signal).finally(() => isLast && this.#die());
        signal.throwIfAborted();
        return answer;
      },
    };
  }
}

/** Launches a node for each call of a launch, with a launcher that dies before that call or after its answer. */
export function killAtEachCall(options: () => WorldOptions, label: string, firstNode: number): Promise<Killed[]> {
  const moments = Array.from({ length: MOST_CALLS }, (_, call) =>
    [true, false].map((isBefore) => ({ at: call + 1, isBefore })),
  );
  return Promise.all(
    moments.flat().map(async ({ at, isBefore }, index) => {
      const end = new AbortController();
      const dying = new DyingHttp(at, isBefore, () => {
        world.isDead = true;
        end.abort(new Error('its process has died'));
      });
      const world: World = new World({
        ...options(),
        firstNode: firstNode + index,
        wrap: (http) => dying.around(http),
      });
      await world.provider.start(end.signal);
      await world.launch(label, { signal: end.signal });
      await world.end();
      return { at, hasDied: world.isDead, writes: dying.writes };
    }),
  );
}

/**
 * What was not tried. Refused calls are made again, so launches differ in how many they make: what counts is whether each kill hit
 * the process that made its call.
 * @param most - calls that every launch makes
 */
export function missedOf(killed: readonly Killed[], most: number) {
  const calls = Array.from({ length: most }, (_, call) => call + 1);
  return {
    /** Calls that no kill hit. */
    calls: calls.filter((call) => !killed.some(({ at, hasDied }) => hasDied && at === call)),
    /** Kills that did not hit although the call was made, or the other way round. */
    wrong: killed.filter(({ at, hasDied, writes }) => hasDied !== writes >= at),
  };
}
