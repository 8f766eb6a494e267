import { describe, expect, it } from 'vitest';
import type { Arrival } from './demand.js';
import { playSettings, type StandbyGoal } from './play-settings.js';
import { scheduleYaml, searchSchedule } from './search-schedule.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BOOT_MS = 2 * MINUTE_MS;
/** A Monday. */
const BEGIN_MS = Date.UTC(2027, 5, 7);
const DAYS = 14;
const GOAL: StandbyGoal = { goal: 95, targetWaitMs: 5_000, atMost: 100, timeZone: 'Europe/Berlin' };

/** Two weeks of requests. @param minutesOf - times of a day of the week, Monday 0, in minutes of UTC */
function sceneOf(minutesOf: (weekday: number) => readonly (readonly [minute: number, nodes: number])[]) {
  const arrivals: Arrival[] = [];
  for (let day = 0; day < DAYS; day++)
    for (const [minute, nodes] of minutesOf(day % 7))
      arrivals.push({ atMs: BEGIN_MS + day * DAY_MS + minute * MINUTE_MS, nodes });
  const launches = arrivals.map(({ atMs }) => ({ endedMs: atMs + BOOT_MS, tookMs: BOOT_MS }));
  const times = { sinceMs: BEGIN_MS, untilMs: BEGIN_MS + DAYS * DAY_MS, knownSinceMs: BEGIN_MS };
  return { ...times, arrivals, launches, before: [], bootMs: () => BOOT_MS };
}

/** Seldom enough that the last hour does not know of them. */
const officeHours = (weekday: number) =>
  weekday < 5 ? Array.from({ length: 8 }, (_, i) => [6 * 60 + i * 80, 2] as const) : [];

describe('a schedule that is searched', () => {
  it('has the hours of days of work by the local clock', () => {
    const found = searchSchedule(sceneOf(officeHours), GOAL);

    expect(scheduleYaml(found)).toBe(
      "standby: { schedule: [{ days: mon-fri, from: '08:00', to: '18:00', nodes: 2 }], follow: 1h }",
    );
  });

  it('has a run for jobs that come together, and no nodes around the clock', () => {
    const scene = sceneOf(() => [[120, 60]]);
    const found = searchSchedule(scene, GOAL);

    expect(scheduleYaml(found)).toBe(
      "standby: { schedule: [{ cron: '0 4 * * *', nodes: 60, until: consumed }], follow: 1h }",
    );
    expect(playSettings(scene, GOAL, { settings: found, minReady: 0 })).toMatchObject({ atOnce: 1 });
  });

  it('has a run on days of work alone, beside hours', () => {
    const scene = sceneOf((weekday) => (weekday < 5 ? [...officeHours(weekday), [1_200, 30] as const] : []));

    expect(scheduleYaml(searchSchedule(scene, GOAL))).toContain("{ cron: '0 22 * * 1-5', nodes: 30, until: consumed }");
  });

  it('is none where the last hour is enough', () => {
    const often = () => Array.from({ length: 60 }, (_, i) => [6 * 60 + i * 10, 2] as const);

    expect(searchSchedule(sceneOf(often), GOAL).schedule).toEqual([]);
  });

  it('is none where nothing comes', () => {
    expect(
      searchSchedule(
        sceneOf(() => []),
        GOAL,
      ).schedule,
    ).toEqual([]);
  });

  it('comes nearest where no number meets the goal', () => {
    const scene = sceneOf(officeHours);

    expect(searchSchedule(scene, { ...GOAL, atMost: 1 }).schedule.length).toBeLessThan(2);
  });
});
