import type { Resources } from '@nodepool/zk-protocol';
import type { Past, RecordedUse } from './past.js';

/** A recorded launch. */
export interface RecordedLaunch {
  readonly beganMs: number;
  readonly tookMs: number;
  readonly isReady: boolean;
  readonly attempts: number;
}

interface Sample<Value> {
  readonly atMs: number;
  readonly value: Value;
  uses: number;
}

/** Number of samples around a moment from which the least used one is chosen. */
const NEIGHBOURS = 16;
const USUAL_LAUNCH: RecordedLaunch = { beganMs: 0, tookMs: 60_000, isReady: true, attempts: 1 };
const USUAL_DELETION_MS = 5_000;

/** Samples in time. Returns samples near the moment asked for, each about equally often. */
class Samples<Value> {
  readonly #samples: Sample<Value>[] = [];
  #isSorted = true;

  add(atMs: number, value: Value): void {
    this.#samples.push({ atMs, value, uses: 0 });
    this.#isSorted = false;
  }

  take(atMs: number): Value | undefined {
    if (!this.#isSorted) this.#samples.sort((a, b) => a.atMs - b.atMs);
    this.#isSorted = true;
    const at = this.#firstFrom(atMs);
    const near = this.#samples.slice(Math.max(0, at - NEIGHBOURS / 2), at + NEIGHBOURS / 2);
    const distance = (sample: Sample<Value>) => Math.abs(sample.atMs - atMs);
    const [found] = near.sort((a, b) => a.uses - b.uses || distance(a) - distance(b));
    if (found) found.uses++;
    return found?.value;
  }

  #firstFrom(atMs: number): number {
    let [low, high] = [0, this.#samples.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#samples[middle]?.atMs ?? Infinity) < atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Recorded launches and deletions by provider and label, and the resources of nodes. */
export class LaunchRecord {
  readonly #launches = new Map<string, Samples<RecordedLaunch>>();
  /** By provider, label and request. */
  readonly #byRequest = new Map<string, RecordedLaunch[]>();
  readonly #deletions = new Map<string, Samples<number>>();
  readonly #needs = new Map<string, Resources>();
  readonly #ceilings: ReadonlyMap<string, Resources>;
  readonly #guessed = new Set<string>();

  constructor(past: Past) {
    for (const use of past.uses) this.#learn(use);
    this.#ceilings = observedCeilings(past);
  }

  /** Labels without a recorded launch, as `label of provider`. They were simulated with launches of other labels. */
  get guessed(): readonly string[] {
    return [...this.#guessed].sort();
  }

  /** Providers whose quota kept requests waiting, with the highest recorded usage. */
  get ceilings(): ReadonlyMap<string, Resources> {
    return this.#ceilings;
  }

  /**
   * Chooses a recorded launch to simulate.
   * @param request - recorded id of the request; a launch recorded for it is preferred
   */
  launch(provider: string, label: string, request: string | null, atMs: number): RecordedLaunch {
    const same = this.#byRequest.get(`${provider} ${label} ${request}`)?.shift();
    if (same) return same;
    const own = this.#launches.get(`${provider} ${label}`)?.take(atMs);
    if (own) return own;
    this.#guessed.add(`${label} of ${provider}`);
    for (const key of [`${provider} `, ` ${label}`, ' ']) {
      const other = this.#launches.get(key)?.take(atMs);
      if (other) return other;
    }
    return USUAL_LAUNCH;
  }

  /** Duration of a deletion that starts at this time. */
  deletionMs(provider: string, atMs: number): number {
    return (this.#deletions.get(provider) ?? this.#deletions.get(''))?.take(atMs) ?? USUAL_DELETION_MS;
  }

  /** Resources of one node with this label. */
  needOf(provider: string, pool: string, label: string): Resources {
    const known = this.#needs.get(`${provider}/${pool} ${label}`) ?? this.#needs.get(` ${label}`);
    return { ...known, instances: 1 };
  }

  #learn({ pool, labels: [label = ''], resources, launchBeganMs, launchEndedMs, ...use }: RecordedUse): void {
    const provider = providerOf(pool);
    const { launched, attempts, deletingMs, goneMs } = use;
    if (resources) for (const key of [`${pool} ${label}`, ` ${label}`]) this.#needs.set(key, resources);
    if (launchBeganMs === undefined) return;
    if (launchEndedMs !== undefined && launched !== 'aborted') {
      const tookMs = launchEndedMs - launchBeganMs;
      const launch = { beganMs: launchBeganMs, tookMs, isReady: launched === 'ready', attempts: Math.max(1, attempts) };
      const same = `${provider} ${label} ${use.request}`;
      this.#byRequest.set(same, [...(this.#byRequest.get(same) ?? []), launch]);
      for (const key of [`${provider} ${label}`, `${provider} `, ` ${label}`, ' '])
        samplesOf(this.#launches, key).add(launchBeganMs, launch);
    }
    if (deletingMs === undefined || goneMs === undefined) return;
    for (const key of [provider, '']) samplesOf(this.#deletions, key).add(deletingMs, goneMs - deletingMs);
  }
}

/** The provider in `provider/pool`. */
export function providerOf(pool: string): string {
  return pool.slice(0, pool.lastIndexOf('/'));
}

function samplesOf<Value>(all: Map<string, Samples<Value>>, key: string): Samples<Value> {
  let samples = all.get(key);
  if (!samples) all.set(key, (samples = new Samples()));
  return samples;
}

/** Estimates quotas, which are not recorded: where requests waited for one, it was at most the highest usage. */
function observedCeilings(past: Past): Map<string, Resources> {
  const short = new Set(past.requests.flatMap(({ shortProviders }) => [...shortProviders]));
  return new Map([...short].map((provider) => [provider, mostUsed(past.uses, provider)]));
}

function mostUsed(uses: readonly RecordedUse[], provider: string): Resources {
  const changes = uses
    .filter(({ pool, launchBeganMs }) => providerOf(pool) === provider && launchBeganMs !== undefined)
    .flatMap(({ beginMs, endMs = Infinity, resources }) => {
      const need: Resources = { ...resources, instances: 1 };
      return [
        { atMs: beginMs, need, sign: 1 },
        { atMs: endMs, need, sign: -1 },
      ];
    })
    .sort((a, b) => a.atMs - b.atMs || a.sign - b.sign);
  const used: Record<string, number> = {};
  const most: Record<string, number> = {};
  for (const { need, sign } of changes) {
    for (const [name, amount] of Object.entries(need)) {
      used[name] = (used[name] ?? 0) + sign * amount;
      most[name] = Math.max(most[name] ?? 0, used[name]);
    }
  }
  return most;
}
