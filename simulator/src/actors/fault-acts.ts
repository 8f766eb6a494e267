import type { FaultName } from '../world/faults.js';
import { loseOnce, restoreOnce } from './database-faults.js';
import type { Scene } from './scene.js';

/** What faults do from time to time, by name. */
export const FAULT_ACTS: Partial<Record<FaultName, (scene: Scene) => void>> = {
  'late-calls': ({ repeat, random, fleets }) => repeat(8_000, () => random.pick(fleets).beLate?.()),
  'broken-labels': ({ repeat, random, fleets }) => repeat(12_000, () => random.pick(fleets).breakLabel?.()),
  'no-concurrency': (scene) => scene.repeat(12_000, () => closeFleet(scene)),
  'due-at-once': (scene) => scene.repeat(6_000, () => leaseTogether(scene)),
  unreadable: ({ repeat, newer, tool, lessees }) => {
    repeat(4_000, () => newer?.write(lessees));
    repeat(2_000, () => tool?.spoil());
  },
  'clock-steps': (scene) => scene.repeat(10_000, () => setClock(scene)),
  'leader-clocks': (scene) => scene.repeat(20_000, () => changeLeader(scene)),
  'broken-files': (scene) => scene.repeat(10_000, () => breakFile(scene)),
  'restored-database': restoreOnce,
  'lost-database': loseOnce,
  'cut-off': (scene) => {
    scene.repeat(15_000, () => cutOff(scene));
    scene.repeat(1_000, () => askAnyway(scene));
  },
};

const MOST_SET_MS = 120_000;
/** How wrong the clock of a leader may be. */
const MOST_LEADING_MS = 300_000;

/** An administrator or NTP sets the clock of one launcher. */
function setClock({ random, launchers }: Scene): void {
  const ms = random.pick([-MOST_SET_MS, MOST_SET_MS, random.int(-MOST_SET_MS, MOST_SET_MS)]);
  random.pick(launchers).process?.step(ms);
}

/** Another member of the ensemble becomes the leader: all connections break, and its clock stamps what is written. */
function changeLeader({ world, random, launchers }: Scene): void {
  const aheadMs = random.pick([0, -MOST_LEADING_MS, MOST_LEADING_MS, random.int(-MOST_LEADING_MS, MOST_LEADING_MS)]);
  world.trace.add('chaos', `another member leads, its clock is ${Math.round(aheadMs / 1000)} s ahead`);
  const ready = launchers.filter(({ running }) => running?.notReady.length === 0).map(({ process }) => process);
  const isKeeper = (who: string) => ready.includes(launchers.find(({ name }) => name === who)?.process);
  world.leaderClock.change(aheadMs, isKeeper);
  world.server.changeLeader();
}

/** A launcher loses ZooKeeper, silently or not, or stands still, for about as long as its session lives or longer. */
function cutOff({ world, random, launchers }: Scene): void {
  const { process } = random.pick(launchers);
  if (!process) return;
  const ms = random.between(5_000, 50_000);
  const kind = random.pick(['refused', 'silent', 'still'] as const);
  world.trace.add('chaos', `${process.name} is cut off for ${Math.round(ms)} ms: ${kind}`);
  if (kind === 'silent') return process.silence(ms);
  if (kind === 'still') return process.stall(Math.min(ms, 25_000));
  process.weather.refusal = 1;
  process.link.break();
  world.clock.setTimer(ms, () => (process.weather.refusal = 0));
}

/** One provider has `max-concurrency: 0` for a while. */
function closeFleet({ world, random, fleets, reload }: Scene): void {
  const fleet = random.pick(fleets);
  const open = fleet.close?.();
  if (!open) return;
  world.trace.add('operator', `${fleet.name}: at most 0 launches at once`);
  reload();
  world.clock.setTimer(random.between(5_000, 40_000), () => {
    world.trace.add('operator', `${fleet.name}: as many launches as before`);
    open();
    reload();
  });
}

/** The file of a launcher is broken, and right some time later. */
function breakFile({ world, random, launchers, spec }: Scene): void {
  const launcher = random.pick(launchers);
  launcher.breakFile(spec());
  world.clock.setTimer(random.pick([300, random.between(1_000, 25_000)]), () => launcher.reconfigure(spec()));
}

/** Several leases, of one label or of many, that are due at one moment. */
function leaseTogether({ world, random, lessees, labels }: Scene): void {
  const dueMs = world.clock.now() + random.between(5_000, 20_000);
  for (let i = random.int(2, 6); i > 0 && lessees.length > 0; i--) {
    random.pick(lessees).submit({
      ...{ labels: [random.pick(labels)], priority: 100, ttlMs: 20_000, giveUpMs: 15_000 },
      ...{ isRepeated: false, returnAfterMs: undefined, renewAfterMs: undefined },
      due: { atMs: dueMs, renewedAtMs: random.chance(0.5) ? dueMs + random.between(-60, 30) : undefined },
    });
  }
}

/** Lessees ask a launcher whether it knows the truth or not. */
function askAnyway({ random, launchers, lessees }: Scene): void {
  if (lessees.length > 0) random.pick(lessees).ask(random.pick(launchers));
}
