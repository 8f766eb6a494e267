import { dueAt, scheduleText, type ScheduledNodes, type StandbySettings } from '@nodepool/core/config';

/** Nodes that something asks for, and why. */
export interface Wanted {
  readonly nodes: number;
  readonly reason: string;
  /** It is shown although it asks for none. */
  readonly isDue?: boolean;
}

/** What is due is found from this, beside the schedule. */
export interface ScheduleNow {
  readonly atMs: number;
  /** Nodes are launched so long before their time. */
  readonly leadMs: number;
  /** Free nodes. */
  readonly free: number;
  readonly countsSinceMs: number;
}

/** A run whose nodes are not replaced. */
interface Run {
  nodes: number;
  taken: number;
  readonly isSeen: boolean;
}

/** Scheduled nodes that are due. */
interface Begun {
  /** When their time began or begins. */
  readonly dueMs: number;
  /** The lead with which they began. */
  readonly leadMs: number;
  run?: Run | undefined;
}

/** What of a schedule has begun, and what requests took of its runs. */
export class BegunSchedule {
  /** By what says when: an edit of the number of nodes does not begin again. */
  readonly #begun = new Map<string, Begun>();

  /** Takes nodes of the runs. @returns the number of nodes that no run was for */
  take(nodes: number): number {
    let rest = nodes;
    for (const { run } of this.#begun.values()) {
      if (!run) continue;
      const taken = Math.min(leftOf(run, run.nodes), rest);
      run.taken += taken;
      rest -= taken;
    }
    return rest;
  }

  /** What the schedule asks for now. */
  wanted({ schedule, timeZone }: StandbySettings, now: ScheduleNow): Wanted[] {
    const keys = new Set(schedule.map((each) => keyOf(each, timeZone)));
    for (const [key, { run }] of this.#begun) {
      if (!keys.has(key)) this.#begun.delete(key);
      else if (run) run.nodes = 0; // the schedule says it again
    }
    return schedule.flatMap((scheduled) => {
      const begun = this.#begin(scheduled, timeZone, now);
      if (!begun) return [];
      const reason = `the schedule says ${scheduled.nodes}: ${scheduleText(scheduled, timeZone)}`;
      if (scheduled.kind !== 'run' || !scheduled.untilConsumed) {
        return [{ nodes: scheduled.nodes, reason, isDue: true }];
      }
      const run = (begun.run ??= newRun(scheduled, begun, now));
      run.nodes = Math.max(run.nodes, scheduled.nodes);
      const nodes = leftOf(run, scheduled.nodes);
      const unknown = run.isSeen ? '' : ', or were not there when the launcher started';
      return [{ nodes, reason: `${reason}, of which ${scheduled.nodes - nodes} are taken${unknown}`, isDue: true }];
    });
  }

  /** A shorter lead does not end what has begun; a clock that went back does. */
  #begin(scheduled: ScheduledNodes, timeZone: string, { atMs, leadMs }: ScheduleNow): Begun | undefined {
    const key = keyOf(scheduled, timeZone);
    const before = this.#begun.get(key);
    const dueMs = dueAt(scheduled, timeZone, atMs, leadMs);
    if (dueMs !== undefined) {
      const begun = { dueMs, leadMs, run: before?.dueMs === dueMs ? before.run : undefined };
      this.#begun.set(key, begun);
      return begun;
    }
    if (before && atMs < before.dueMs && before.dueMs - atMs <= before.leadMs) return before;
    this.#begun.delete(key);
    return undefined;
  }
}

function keyOf(scheduled: ScheduledNodes, timeZone: string): string {
  return JSON.stringify({ ...scheduled, nodes: undefined, timeZone });
}

/** Of what was taken before requests were counted nothing is known: it is not replaced. */
function newRun({ nodes }: ScheduledNodes, { dueMs }: Begun, { free, countsSinceMs }: ScheduleNow): Run {
  const isSeen = countsSinceMs <= dueMs;
  return { nodes, taken: isSeen ? 0 : nodes - Math.min(free, nodes), isSeen };
}

function leftOf({ taken }: Run, nodes: number): number {
  return Math.max(0, nodes - taken);
}
