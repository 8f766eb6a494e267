import { durationText } from '@nodepool/core/service';
import { compareStandby, playConstant, type StandbyFigures } from '../standby/compare-standby.js';
import type { StandbyGoal } from '../standby/forecast.js';
import type { Window } from './demand.js';
import type { Past } from './past.js';
import { isDemand } from '../record/requestors.js';
import { recordedFigures } from './replay-standby.js';
import { scenesOf, type LabelScene } from './standby-scenes.js';

/** A label of the configuration. */
export interface AdvisedLabel {
  readonly name: string;
  readonly minReady: number;
  /** Whether it has `standby`. */
  readonly hasStandby: boolean;
  readonly goal: StandbyGoal;
}

/** The standby nodes that are proposed for a label, with what led to them. */
export interface StandbyAdvice {
  readonly label: string;
  /** `keep`: what the configuration has; `undefined`: nothing is proposed. */
  readonly proposal: 'keep' | 'min-ready' | 'standby' | undefined;
  readonly reason: string;
  /** Missing where nothing is proposed. */
  readonly figures: AdviceFigures | undefined;
}

/** What numbers of standby nodes would have given. */
export interface AdviceFigures {
  /** As it was, with whatever the configuration was then. */
  readonly recorded: StandbyFigures;
  /** With the configuration. */
  readonly now: StandbyFigures;
  /** With the smallest `min-ready` that meets the goal. */
  readonly minReady: StandbyFigures;
  readonly standby: StandbyFigures;
  /** Share of each provider in the launches. */
  readonly providers: ReadonlyMap<string, number>;
}

const DAY_MS = 86_400_000;
/** Days of the record that forecasts only learn from, and days to judge by. */
const LEARNED_DAYS = 7;
const JUDGED_DAYS = 7;
/** With fewer requests nothing is proposed. */
const FEW_REQUESTS = 20;
/** `standby` pays where it spares this share of the idle node-hours of the constant, and so many a day. */
const CLEAR_SHARE = 0.25;
const CLEAR_HOURS = 1;
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
 * Proposes the standby nodes of each label: `standby` where it meets the goal and clearly spares idle node-hours, else the smallest
 * constant number that meets it. The first week on record is what the forecast learns from.
 */
export function adviseStandby(past: Past, window: Window, labels: readonly AdvisedLabel[]): StandbyAdvice[] {
  const learnedMs = Math.min(past.fromMs + LEARNED_DAYS * DAY_MS, window.untilMs - JUDGED_DAYS * DAY_MS);
  const sinceMs = Math.max(window.sinceMs, learnedMs);
  const scenes = new Map([...scenesOf(past, { ...window, sinceMs })].map((scene) => [scene.label, scene]));
  const advices = labels.map((label) => adviseLabel(label, scenes.get(label.name), askedFor(past, label.name, window)));
  const known = new Set(labels.map(({ name }) => name));
  const unknown = [...scenes.keys()].filter((label) => !known.has(label));
  return [...advices, ...unknown.map((label) => nothing(label, 'the configuration does not have the label'))];
}

function nothing(label: string, reason: string): StandbyAdvice {
  return { label, proposal: undefined, reason, figures: undefined };
}

function askedFor({ requests }: Past, label: string, { untilMs }: Window): number {
  return requests.filter((each) => isDemand(each) && each.createdMs <= untilMs && each.labels.includes(label)).length;
}

/** @param asked - number of its requests on record, also those that forecasts only learn from */
function adviseLabel(label: AdvisedLabel, scene: LabelScene | undefined, asked: number): StandbyAdvice {
  const { name } = label;
  if (label.minReady < 0) return nothing(name, `min-ready ${label.minReady} switches the label off`);
  if (asked === 0) return nothing(name, 'no request for it is on record');
  if (asked < FEW_REQUESTS) return nothing(name, fewRequests(asked));
  if (!scene) return nothing(name, 'no request for it is on record in the time to judge by');
  const lack = lackOf(scene);
  if (lack !== undefined) return nothing(name, lack);
  const { auto, constant } = compareStandby(scene, label.goal, label.minReady);
  const figures = {
    recorded: recordedFigures(scene),
    now: label.hasStandby ? auto : playConstant(scene, label.minReady),
    ...{ minReady: constant, standby: auto, providers: providersOf(scene) },
  };
  const days = (scene.untilMs - scene.sinceMs) / DAY_MS;
  if (label.goal.idleBudget !== undefined) {
    const reason = budgetReason(label.goal.idleBudget, playConstant(scene, 0), auto, days);
    return { label: name, figures, proposal: 'keep', reason };
  }
  return { label: name, figures, ...propose(label, figures, days) };
}

function fewRequests(count: number): string {
  return count === 1
    ? `only 1 request is on record, and ${FEW_REQUESTS} are needed`
    : `only ${count} requests are on record, and ${FEW_REQUESTS} are needed`;
}

function lackOf({ launches, sinceMs, untilMs, before }: LabelScene): string | undefined {
  if (launches.length === 0) return 'no launch of it is on record';
  const firstMs = before[0]?.atMs ?? sinceMs;
  // the day of the first request counts as a whole
  const days = Math.ceil((untilMs - firstMs) / DAY_MS);
  const needed = LEARNED_DAYS + JUDGED_DAYS;
  if (days < needed) return `its requests of ${days} days are on record, and ${needed} days are needed`;
  return untilMs - sinceMs < JUDGED_DAYS * DAY_MS
    ? `${JUDGED_DAYS} days are needed to judge by: choose an earlier --since`
    : undefined;
}

function providersOf({ launches }: LabelScene): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { provider } of launches) shares.set(provider, (shares.get(provider) ?? 0) + 1 / launches.length);
  return shares;
}

/** A budget is the choice of the operator: it is kept, with what it buys. */
function budgetReason(budget: number, none: StandbyFigures, standby: StandbyFigures, days: number): string {
  const [without, own] = [none, standby].map(({ p50Ms, p95Ms }) =>
    [p50Ms, p95Ms].map((ms) => durationText(ms / 1000)).join(' and '),
  );
  const hours = (standby.idleHours / days).toFixed(1);
  return `its idle-budget of ${budget} is a choice: for ${hours} idle node-hours a day, p50 and p95 of the waits are ${own} instead of ${without}`;
}

function propose(
  { minReady, hasStandby, goal }: AdvisedLabel,
  { minReady: constant, standby }: AdviceFigures,
  days: number,
): Pick<StandbyAdvice, 'proposal' | 'reason'> {
  const [own, theirs] = [standby, constant].map(({ p95Ms }) => durationText(p95Ms / 1000));
  const targetMs = goal.targetWaitMs ?? constant.p95Ms;
  if (constant.p95Ms > targetMs)
    return {
      proposal: undefined,
      reason: `with ${constant.nodes} nodes, 5 of 100 requests still wait ${theirs} or longer`,
    };
  const spared = constant.idleHours - standby.idleHours;
  const isClear = spared >= CLEAR_SHARE * constant.idleHours && spared >= CLEAR_HOURS * days;
  const share = constant.idleHours > 0 ? Math.max(0, Math.round((100 * spared) / constant.idleHours)) : 0;
  if (isClear && standby.p95Ms <= targetMs) {
    const reason = `${share} % fewer idle node-hours than min-ready ${constant.nodes}`;
    return { proposal: hasStandby ? 'keep' : 'standby', reason };
  }
  const proposal = !hasStandby && Math.max(0, minReady) === constant.nodes ? 'keep' : 'min-ready';
  if (constant.nodes === 0) return { proposal, reason: 'no standby node is needed' };
  const but =
    standby.p95Ms > targetMs
      ? `with standby, 5 of 100 requests wait ${own} or longer`
      : `standby would spare ${share} % of its idle node-hours`;
  return { proposal, reason: `the smallest that meets the goal; ${but}` };
}
