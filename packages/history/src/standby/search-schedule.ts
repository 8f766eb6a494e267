import { localTimeOf, type ScheduledNodes, type StandbySettings } from '@nodepool/core/config';
import { LabelDemand, slotOf, SLOT_MS } from './demand.js';
import { fitHours } from './fit.js';
import {
  meets,
  playSettings,
  quantile,
  settingsFor,
  type ComparedScene,
  type StandbyFigures,
  type StandbyGoal,
} from './play-settings.js';

const DAY_MS = 86_400_000;
const SLOTS_A_DAY = DAY_MS / SLOT_MS;
const WORKDAYS = [1, 2, 3, 4, 5];
const EVERY_DAY = [0, ...WORKDAYS, 6];
/** Numbers that are tried, up to the largest need. */
const LEVELS = [0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85, 100];
const MOST_AT_NIGHT = 4;
/** A run of jobs: so many nodes within a quarter of an hour, on so many of the days of its kind. */
const RUN = { nodes: 8, share: 0.6 };

/**
 * The cheapest schedule that meets the goal in the time of a scene, beside the largest need of the last hour: runs of jobs at the same
 * time of day, hours of days of work, and `min-ready` for the rest. Where none meets it, the one that comes nearest.
 */
export function searchSchedule(scene: ComparedScene, goal: StandbyGoal): StandbySettings {
  const runs = runsOf(scene, goal);
  const inRuns = new Set(runs.map(({ quarter }) => quarter));
  const others = scene.arrivals.filter(({ atMs }) => !inRuns.has(quarterOf(goal, atMs)));
  const hours = busyHours({ ...scene, arrivals: others }, goal);
  const most = Math.min(goal.atMost, largestNeed({ ...scene, arrivals: others }));
  const levels = LEVELS.filter((nodes, at) => at === 0 || nodes <= most || (LEVELS[at - 1] ?? 0) < most);
  const play = (night: number, day: number): Tried => {
    const schedule = [...runs.map(({ run }) => run), ...scheduleOf(night, day, hours)];
    const settings = settingsFor(goal, { schedule });
    return { settings, figures: playSettings(scene, goal, { settings, minReady: 0 }) };
  };
  let best = play(0, 0);
  if (meets(best.figures, goal)) return best.settings;
  for (const night of levels.filter((nodes) => nodes <= MOST_AT_NIGHT)) {
    const found = fewestEnough(goal, hours ? levels.filter((nodes) => nodes >= night) : [night], (day) =>
      play(night, day),
    );
    if (isBetter(goal, found, best)) best = found;
  }
  return best.settings;
}

/** Plays with the smallest of the numbers that meets the goal, or with the largest: more nodes never serve less. */
function fewestEnough(goal: StandbyGoal, numbers: readonly number[], play: (nodes: number) => Tried): Tried {
  let [low, high] = [0, numbers.length - 1];
  let found = play(numbers[high] ?? 0);
  if (!meets(found.figures, goal)) return found;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const tried = play(numbers[middle] ?? 0);
    if (meets(tried.figures, goal)) [high, found] = [middle, tried];
    else low = middle + 1;
  }
  return found;
}

/** A schedule that was found, as `standby` of a label has it. */
export function scheduleYaml({ schedule }: StandbySettings): string {
  const time = (minute: number) => `'${String(Math.floor(minute / 60)).padStart(2, '0')}:00'`;
  const entries = schedule.map((entry) => {
    if (entry.kind === 'run') return `{ cron: '${entry.cron}', nodes: ${entry.nodes}, until: consumed }`;
    const days = entry.days === WORKDAYS ? 'days: mon-fri, ' : '';
    return `{ ${days}from: ${time(entry.fromMinute)}, to: ${time(entry.toMinute)}, nodes: ${entry.nodes} }`;
  });
  return `standby: { schedule: [${entries.join(', ')}], follow: 1h }`;
}

interface Tried {
  readonly settings: StandbySettings;
  readonly figures: StandbyFigures;
}

function isBetter(goal: StandbyGoal, { figures: one }: Tried, { figures: other }: Tried): boolean {
  const [isEnough, otherIs] = [meets(one, goal), meets(other, goal)];
  if (isEnough !== otherIs) return isEnough;
  return isEnough ? one.idleHours < other.idleHours : one.atOnce > other.atOnce;
}

interface Hours {
  readonly from: number;
  readonly to: number;
  /** Of the week, Sunday 0. */
  readonly days: readonly number[];
}

function scheduleOf(night: number, day: number, hours: Hours | undefined): ScheduledNodes[] {
  const all = { kind: 'hours', days: EVERY_DAY, fromMinute: 0, toMinute: 1_440, nodes: night } as const;
  const schedule: ScheduledNodes[] = night > 0 ? [all] : [];
  if (!hours || day <= night) return schedule;
  const { from, to, days } = hours;
  return [{ ...all, days, fromMinute: from * 60, toMinute: to * 60, nodes: day }, ...schedule];
}

function largestNeed({ sinceMs, untilMs, ...scene }: ComparedScene): number {
  return demandOf(scene).largestNeed(slotOf(sinceMs), slotOf(untilMs));
}

function demandOf({ arrivals, launches }: Pick<ComparedScene, 'arrivals' | 'launches'>): LabelDemand {
  const bootMs = quantile(
    launches.map(({ tookMs }) => tookMs),
    0.75,
  );
  const demand = new LabelDemand();
  for (const arrival of arrivals) demand.add(arrival, bootMs || 120_000);
  return demand;
}

/**
 * The hours of days of work that need at least half of what the busiest one needs, of every day if weekends need as much at some of
 * them; `undefined`: none needs any.
 */
function busyHours(scene: ComparedScene, goal: StandbyGoal): Hours | undefined {
  const [first, last] = [slotOf(scene.sinceMs + SLOT_MS - 1), slotOf(scene.untilMs)];
  const fit = fitHours(demandOf(scene), (slot) => slot >= first, last, goal);
  const [work, weekend] = [new Map<number, number>(), new Map<number, number>()];
  for (let slot = first; slot < last; slot++) {
    const { hour, isWeekend, nodes } = fit(slot * SLOT_MS);
    (isWeekend ? weekend : work).set(hour, nodes);
  }
  const most = Math.max(0, ...work.values());
  const isBusy = (nodes = 0) => nodes > 0 && 2 * nodes >= most;
  const busy = [...work].filter(([, nodes]) => isBusy(nodes)).map(([hour]) => hour);
  if (busy.length === 0) return undefined;
  const days = busy.some((hour) => isBusy(weekend.get(hour))) ? EVERY_DAY : WORKDAYS;
  return { from: Math.min(...busy), to: Math.max(...busy) + 1, days };
}

/** Jobs that come together, and the quarter of the day in which they do. */
interface Run {
  readonly quarter: number;
  readonly run: ScheduledNodes;
}

/** What comes in a quarter of the day on one day. */
interface Quarter {
  nodes: number;
  readonly minute: number;
  readonly isWork: boolean;
}

const quarterOf = ({ timeZone }: StandbyGoal, atMs: number) => Math.floor(localTimeOf(timeZone, atMs).minute / 15);

/** Jobs that come together at the same time on most days, or on most days of work. */
function runsOf({ arrivals, sinceMs, untilMs }: ComparedScene, goal: StandbyGoal): Run[] {
  const byQuarter = new Map<number, Map<number, Quarter>>();
  for (const { atMs, nodes } of arrivals) {
    const { day, minute } = localTimeOf(goal.timeZone, atMs);
    const quarter = quarterOf(goal, atMs);
    const days = byQuarter.get(quarter) ?? new Map<number, Quarter>();
    byQuarter.set(quarter, days);
    const date = Math.round((atMs - minute * 60_000) / DAY_MS);
    const known = days.get(date);
    if (known) known.nodes += nodes;
    else days.set(date, { nodes, minute, isWork: WORKDAYS.includes(day) });
  }
  const dayCount = Math.max(1, Math.round((untilMs - sinceMs) / DAY_MS));
  return [...byQuarter].flatMap(([quarter, days]): Run[] => {
    const large = [...days.values()].filter(({ nodes }) => nodes >= RUN.nodes);
    const work = large.filter(({ isWork }) => isWork).length;
    const isMost = (count: number, daysAWeek: number) => count >= (RUN.share * dayCount * daysAWeek) / 7;
    // what comes as often around it is a busy hour
    const near = [-2, 2].map((distance) => byQuarter.get((quarter + distance + SLOTS_A_DAY) % SLOTS_A_DAY)?.size ?? 0);
    if (!isMost(work, 5) || Math.max(...near) > dayCount / 2) return [];
    const minute = Math.min(...large.map((each) => each.minute));
    const sizes = large.map((each) => each.nodes);
    const nodes = Math.min(goal.atMost, quantile(sizes, 0.9));
    const cron = `${minute % 60} ${Math.floor(minute / 60)} * * ${isMost(large.length - work, 2) ? '*' : '1-5'}`;
    return [{ quarter, run: { kind: 'run', nodes, cron, forMs: 3_600_000, untilConsumed: true } }];
  });
}
