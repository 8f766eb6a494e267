import type { StandbySettings } from '@nodepool/core/config';
import { compareStandby } from '../standby/compare-standby.js';
import { meets, playConstant, playSettings, type StandbyFigures, type StandbyGoal } from '../standby/play-settings.js';
import { searchSchedule } from '../standby/search-schedule.js';
import type { Window } from './demand.js';
import type { Past } from './past.js';
import { isDemand } from '../record/requestors.js';
import { recordedFigures, type StandbyOfLabel } from './replay-standby.js';
import { scenesOf, type LabelScene } from './standby-scenes.js';

/** A label of the configuration. */
export interface AdvisedLabel extends StandbyOfLabel {
  readonly name: string;
  readonly goal: StandbyGoal;
}

/** Ways to have standby nodes that can be proposed, the simplest first. */
export type ProposedStandby = 'min-ready' | 'schedule' | 'auto';

/** The standby nodes that are proposed for a label, with what led to them. */
export interface StandbyAdvice {
  readonly label: string;
  /** `keep`: what the configuration has; `undefined`: nothing is proposed. */
  readonly proposal: 'keep' | ProposedStandby | undefined;
  readonly reason: string;
  /** Missing where nothing is proposed. */
  readonly figures: AdviceFigures | undefined;
  /** Found in the last two weeks; `undefined` where no schedule is proposed. */
  readonly settings: StandbySettings | undefined;
}

/** What numbers of standby nodes would have given. */
export interface AdviceFigures extends Readonly<Record<ProposedStandby, StandbyFigures>> {
  /** As it was, with whatever the configuration was then. */
  readonly recorded: StandbyFigures;
  /** With the configuration. */
  readonly now: StandbyFigures;
  /** Without standby nodes. */
  readonly none: StandbyFigures;
  /** Share of each provider in the launches. */
  readonly providers: ReadonlyMap<string, number>;
}

const DAY_MS = 86_400_000;
/** Days of the record that are only learned from, if there are as many to judge by; and the least of both. */
const LEARNED_DAYS = 14;
const FEW_DAYS = 7;
/** With fewer requests nothing is proposed. */
const FEW_REQUESTS = 20;
/** One way pays more than a simpler one where it spares this share of its idle node-hours, and so many a day. */
const CLEAR_SHARE = 0.25;
const CLEAR_HOURS = 1;
/** A label without requests for so long is not asked for any more. */
const QUIET_MS = 7 * DAY_MS;
/** The clocks of launchers may differ by this. */
const SKEW_MS = 60_000;

/** Why no proposal can be made from a history, if so. @param damagedLines - lines of it that could not be read */
export function tooUnsure({ lines, toMs }: Past, damagedLines: number, nowMs: number): string | undefined {
  if (toMs > nowMs + SKEW_MS)
    return `the history reaches to ${new Date(toMs).toISOString()}, which is in the future: a clock has jumped`;
  return damagedLines * 100 > lines
    ? `${damagedLines} of ${lines + damagedLines} lines of the history are damaged`
    : undefined;
}

/**
 * Proposes the standby nodes of each label: the simplest of `min-ready`, a schedule and `auto` that meets the goal and is not clearly
 * dearer than the others. The first two weeks on record are only learned from, or the first one of two.
 * @param worthHours - idle node-hours that an hour of waiting may cost
 */
export function adviseStandby(
  past: Past,
  window: Window,
  labels: readonly AdvisedLabel[],
  worthHours: number,
): StandbyAdvice[] {
  const learnedMs = Math.min(past.fromMs + LEARNED_DAYS * DAY_MS, window.untilMs - FEW_DAYS * DAY_MS);
  const sinceMs = Math.max(window.sinceMs, learnedMs);
  const scenes = new Map([...scenesOf(past, { ...window, sinceMs })].map((scene) => [scene.label, scene]));
  const advices = labels.map((label) => {
    const scene = scenes.get(label.name);
    const lack = lackOf(label, scene, { past, window });
    return lack === undefined && scene ? adviseLabel(label, scene, worthHours) : nothing(label.name, lack ?? '');
  });
  const known = new Set(labels.map(({ name }) => name));
  const unknown = [...scenes.keys()].filter((label) => !known.has(label));
  return [...advices, ...unknown.map((label) => nothing(label, 'the configuration does not have the label'))];
}

function nothing(label: string, reason: string): StandbyAdvice {
  return { label, proposal: undefined, reason, figures: undefined, settings: undefined };
}

/** Why nothing can be proposed; `undefined`: something can. */
function lackOf(
  { name, minReady }: AdvisedLabel,
  scene: LabelScene | undefined,
  { past, window }: { readonly past: Past; readonly window: Window },
): string | undefined {
  if (minReady < 0) return `min-ready ${minReady} switches the label off`;
  const asked = past.requests.filter(
    (each) => isDemand(each) && each.createdMs <= window.untilMs && each.labels.includes(name),
  );
  const lastMs = Math.max(0, ...asked.map(({ createdMs }) => createdMs));
  if (asked.length === 0) return 'no request for it is on record';
  if (lastMs < window.untilMs - QUIET_MS)
    return `no request for it has come since ${new Date(lastMs).toISOString().slice(0, 10)}`;
  if (asked.length < FEW_REQUESTS)
    return `only ${asked.length} request${asked.length === 1 ? ' is' : 's are'} on record, and ${FEW_REQUESTS} are needed`;
  if (!scene) return 'no request for it is on record in the time to judge by';
  const { launches, sinceMs, untilMs, before } = scene;
  if (launches.length === 0) return 'no launch of it is on record';
  // the day of the first request counts as a whole
  const days = Math.ceil((untilMs - (before[0]?.atMs ?? sinceMs)) / DAY_MS);
  const needed = 2 * FEW_DAYS;
  if (days < needed) return `its requests of ${days} days are on record, and ${needed} days are needed`;
  return Math.ceil((untilMs - sinceMs) / DAY_MS) < FEW_DAYS
    ? `${FEW_DAYS} days are needed to judge by: choose an earlier --since`
    : undefined;
}

const SIMPLEST_FIRST = ['min-ready', 'schedule', 'auto'] as const;

function adviseLabel(label: AdvisedLabel, scene: LabelScene, worthHours: number): StandbyAdvice {
  const { name, goal } = label;
  const { constant, schedule, auto } = compareStandby(scene, goal);
  const figures = {
    ...{ 'min-ready': constant, schedule, auto, recorded: recordedFigures(scene, goal) },
    ...{ now: playSettings(scene, goal, label), none: playConstant(scene, goal, 0), providers: providersOf(scene) },
  };
  const days = (scene.untilMs - scene.sinceMs) / DAY_MS;
  const able = SIMPLEST_FIRST.filter((way) => meets(figures[way], goal));
  const [first] = able;
  if (first === undefined) {
    const most = Math.max(...SIMPLEST_FIRST.map((way) => figures[way].atOnce));
    const reason = `with up to ${goal.atMost} nodes at most ${percent(most)} of 100 requests are served at once, and the goal is ${goal.goal}`;
    return { ...nothing(name, reason), figures };
  }
  const isClear = (one: StandbyFigures, than: StandbyFigures) => {
    const spared = than.idleHours - one.idleHours;
    return spared >= CLEAR_SHARE * than.idleHours && spared >= CLEAR_HOURS * days;
  };
  const way = able.reduce((best, next) => (isClear(figures[next], figures[best]) ? next : best), first);
  const { now, none } = figures;
  const chosen = figures[way];
  const price = (chosen.idleHours - none.idleHours) / (none.waitHours - chosen.waitHours);
  const cost = `${price.toFixed(1)} node-hours for each hour of waiting avoided`;
  if (chosen.idleHours > 0 && !(price <= worthHours))
    return { ...nothing(name, `not worth it: ${cost}, and --worth is ${worthHours}`), figures };
  const isNow = way === 'min-ready' && !label.settings && Math.max(0, label.minReady) === chosen.nodes;
  if (isNow || (meets(now, goal) && !isClear(chosen, now)))
    return { ...nothing(name, `it serves ${percent(now.atOnce)} of 100 requests at once`), figures, proposal: 'keep' };
  const settings = way === 'schedule' ? searchSchedule(scene, goal) : undefined;
  return { label: name, figures, proposal: way, settings, reason: reasonFor(way, figures, cost) };
}

function reasonFor(way: ProposedStandby, figures: AdviceFigures, cost: string): string {
  const { atOnce, idleHours } = figures[way];
  const served = `serves ${percent(atOnce)} of 100 requests at once`;
  const { nodes, idleHours: constantHours } = figures['min-ready'];
  if (way === 'min-ready') return nodes === 0 ? 'no standby node is needed' : `the smallest that ${served}; ${cost}`;
  const share = constantHours > 0 ? Math.round(100 * (1 - idleHours / constantHours)) : 0;
  return `${served}; ${share} % fewer idle node-hours than min-ready ${nodes}; ${cost}`;
}

const percent = (share: number) => Math.floor(100 * share);

function providersOf({ launches }: LabelScene): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { provider } of launches) shares.set(provider, (shares.get(provider) ?? 0) + 1 / launches.length);
  return shares;
}
