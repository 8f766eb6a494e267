import { NodepoolError } from '@nodepool/zk-protocol';
import type { Config, Driver } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import { isDemand } from '../record/requestors.js';
import { demandOf, type DemandedRequest, type Window } from './demand.js';
import { figuresOf, type LabelFigures, type RequestResult } from './figures.js';
import { LaunchRecord, providerOf } from './launch-record.js';
import type { Past } from './past.js';
import { play, type PlayResult } from './play.js';

/** Options of {@link replay}. */
export interface ReplayOptions {
  readonly past: Past;
  readonly window: Window;
  /** The changed configuration, and those of other launchers that serve the same requestors. */
  readonly configs: readonly Config[];
  readonly registry: DriverRegistry;
  /** Labels whose requests are left out. */
  readonly leaveOut?: ReadonlySet<string> | undefined;
  /** Random seed for everything that is not recorded. Default 1. */
  readonly seed?: number | undefined;
  readonly progress?: ((share: number) => void) | undefined;
}

/** Results for one label. */
export interface ReplayedLabel {
  readonly label: string;
  /** With the configuration in force at the time. */
  readonly recorded: LabelFigures | undefined;
  /** With the changed configuration. */
  readonly replayed: LabelFigures | undefined;
}

/** The result of {@link replay}. */
export interface Replay {
  readonly labels: readonly ReplayedLabel[];
  /** Limits of the accuracy, a sentence each. */
  readonly notes: readonly string[];
}

/** Thrown when the history and the configuration do not allow a replay. */
export class ReplayError extends NodepoolError {
  constructor(message: string) {
    super('NODEPOOL_REPLAY', message);
  }
}

/** Below this number of requests, a note warns about the accuracy. */
const FEW = 20;

/**
 * Submits the recorded requests to launchers with a changed configuration. See {@link play} for its effects on the process.
 * @throws {ReplayError} no requests are recorded, or the configuration lacks a label that was served
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  const { past, window, configs, leaveOut = new Set<string>(), seed = 1, progress } = options;
  const demand = demandOf(past, window).filter(({ labels }) => !labels.some((label) => leaveOut.has(label)));
  const counted = demand.filter(({ counts }) => counts);
  if (counted.length === 0) throw new ReplayError(emptyText(past, window));
  checkLabels(past, window, configs, leaveOut);
  const record = new LaunchRecord(past);
  const drivers = await loadDrivers(configs, options.registry);
  const played = await play({ configs, drivers, demand, record, seed, progress });
  const recordedResults = resultsOf(past, window, leaveOut);
  const before = figuresOf(recordedResults, past.uses, window);
  const after = figuresOf(played.results, played.past.uses, window);
  const labels = [...new Set([...before.keys(), ...after.keys()])].sort();
  return {
    labels: labels.map((label) => ({ label, recorded: before.get(label), replayed: after.get(label) })),
    notes: notesOf({ past, window, configs, record, played, counted, recordedResults }),
  };
}

async function loadDrivers(configs: readonly Config[], registry: DriverRegistry): Promise<Map<string, Driver>> {
  const names = new Set(configs.flatMap(({ providers }) => [...providers.values()].map((each) => each.driverName)));
  const drivers = new Map<string, Driver>();
  for (const name of names) drivers.set(name, await registry.get(name));
  return drivers;
}

function emptyText(past: Past, { sinceMs, untilMs }: Window): string {
  const asked = past.requests.filter(isDemand).map(({ createdMs }) => createdMs);
  if (asked.length === 0)
    return 'no request is on record: launchers keep them for a day unless "history" says otherwise';
  const [from, to] = [Math.min(...asked), Math.max(...asked)].map(isoTime);
  return `no request between ${isoTime(sinceMs)} and ${isoTime(untilMs)} is on record: those there are began between ${from} and ${to}`;
}

/** Rejects a configuration without a label that was served: its requests would fail and leave capacity to the others. */
function checkLabels(past: Past, window: Window, configs: readonly Config[], leaveOut: ReadonlySet<string>): void {
  const served = new Set(
    configs.flatMap(({ providers }) =>
      [...providers.values()].flatMap(({ pools }) => [...pools.values()].flatMap((pool) => [...pool.labels.keys()])),
    ),
  );
  const missing = new Map<string, number>();
  for (const { labels, outcome, createdMs } of past.requests.filter(isDemand)) {
    if (outcome !== 'fulfilled' || createdMs < window.sinceMs || createdMs > window.untilMs) continue;
    for (const label of new Set(labels)) {
      if (!served.has(label) && !leaveOut.has(label)) missing.set(label, (missing.get(label) ?? 0) + 1);
    }
  }
  const [first] = [...missing].sort((a, b) => b[1] - a[1]);
  if (!first) return;
  const others = missing.size === 1 ? '' : `, and ${missing.size - 1} more`;
  throw new ReplayError(
    `no pool of the configuration serves label "${first[0]}", which ${first[1]} of the recorded requests were given${others}: ` +
      'add it to a pool, name the configuration of the launcher that serves it with --also, or leave it out with --leave-out',
  );
}

function resultsOf(past: Past, { sinceMs, untilMs }: Window, leaveOut: ReadonlySet<string>): RequestResult[] {
  return past.requests
    .filter((request) => isDemand(request) && request.createdMs >= sinceMs && request.createdMs <= untilMs)
    .filter(({ labels }) => !labels.some((label) => leaveOut.has(label)))
    .map(({ labels, outcome, createdMs, endMs = past.toMs }) => ({
      labels,
      outcome: outcome ?? 'open',
      waitedMs: Math.max(0, endMs - createdMs),
    }));
}

interface NoteSources {
  readonly past: Past;
  readonly window: Window;
  readonly configs: readonly Config[];
  readonly record: LaunchRecord;
  readonly played: PlayResult;
  readonly counted: readonly DemandedRequest[];
  readonly recordedResults: readonly RequestResult[];
}

function notesOf({ past, window, configs, record, played, counted, recordedResults }: NoteSources): string[] {
  const notes: string[] = [];
  const say = (isSo: boolean, text: () => string) => void (isSo && notes.push(text()));
  const providers = new Set(configs.flatMap((config) => [...config.providers.keys()]));
  const gone = [...new Set(past.uses.map(({ pool }) => providerOf(pool)))].filter((name) => !providers.has(name));
  const open = recordedResults.filter(({ outcome }) => outcome === 'open').length;
  say(
    past.fromMs > window.sinceMs,
    () => `the history begins at ${isoTime(past.fromMs)}; nodes in use at that time are unknown`,
  );
  say(counted.length < FEW, () => `only ${counted.length} requests are on record: the figures are not reliable`);
  say(open > 0, () => `${open} requests had no recorded end; they are submitted again, without a recorded wait`);
  say(gone.length > 0, () => `nodes came from providers that are not configured here: ${gone.sort().join(', ')}`);
  say(
    record.guessed.length > 0,
    () => `no recorded launch, simulated with launches of other labels: ${record.guessed.join(', ')}`,
  );
  for (const [provider, { instances = 0 }] of record.ceilings) {
    const highest = `the highest recorded usage, ${instances} instances`;
    say(
      providers.has(provider),
      () => `requests waited for the quota of provider ${provider}; it is set to ${highest}`,
    );
  }
  for (const { provider, error } of played.providerErrors) notes.push(`provider ${provider} did not start: ${error}`);
  return notes;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
