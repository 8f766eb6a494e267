import { Random } from '@nodepool/core/testing';

/** A kind of fault. */
interface Fault {
  readonly name: string;
  /** Share of the seeds that have it; 0: those for which it is asked. */
  readonly share: number;
  /** Whether it also happens where only launchers fail. */
  readonly isOfLaunchers: boolean;
  readonly text: string;
}

/** All faults. A seed draws some of them. */
export const FAULTS = [
  {
    name: 'processes',
    share: 0.85,
    isOfLaunchers: true,
    text: 'processes are killed, stopped, replaced, cut off, slow, stand still',
  },
  {
    name: 'clouds',
    share: 0.85,
    isOfLaunchers: false,
    text: 'clouds are down, slow, full, lose calls and answers, lie, lose instances',
  },
  {
    name: 'lessees',
    share: 0.9,
    isOfLaunchers: true,
    text: 'lessees die; requests for leases and answers are lost',
  },
  { name: 'configurations', share: 0.5, isOfLaunchers: false, text: 'configurations change, at other times for each' },
  { name: 'operator', share: 0.5, isOfLaunchers: false, text: 'an operator deletes and holds nodes' },
  { name: 'orders', share: 0.5, isOfLaunchers: false, text: 'an operator pauses, drains, limits' },
  { name: 'images', share: 0.5, isOfLaunchers: false, text: 'a builder writes images' },
  { name: 'wrong-clocks', share: 0.5, isOfLaunchers: true, text: 'clocks of launchers are wrong by up to 60 s' },
  {
    name: 'clock-steps',
    share: 0.25,
    isOfLaunchers: true,
    text: 'clocks of launchers are set by up to 120 s, and are weeks wrong at a start',
  },
  {
    name: 'late-calls',
    share: 0.25,
    isOfLaunchers: false,
    text: 'calls of clouds take effect up to 60 s after the caller gave up',
  },
  { name: 'stopped-spares', share: 0.25, isOfLaunchers: true, text: 'labels keep stopped standby nodes' },
  {
    name: 'due-at-once',
    share: 0.25,
    isOfLaunchers: true,
    text: 'many leases are due at one moment, and some are renewed at it',
  },
  {
    name: 'broken-labels',
    share: 0.25,
    isOfLaunchers: false,
    text: 'one label cannot be launched in a cloud, all others can',
  },
  {
    name: 'no-concurrency',
    share: 0.25,
    isOfLaunchers: false,
    text: 'a reload sets max-concurrency to 0, another one back',
  },
  {
    name: 'cut-off',
    share: 0.25,
    isOfLaunchers: true,
    text: 'launchers that are cut off or stand still are asked about leases',
  },
  {
    name: 'unreadable',
    share: 0.25,
    isOfLaunchers: false,
    text: 'nodes, requests and leases have records that cannot be read',
  },
  {
    name: 'wake-order',
    share: 0.25,
    isOfLaunchers: true,
    text: 'a process that stood still runs its timers before it reads its sockets, or after',
  },
  {
    name: 'leader-clocks',
    share: 0.25,
    isOfLaunchers: true,
    text: 'members of the ensemble become leader whose clocks are wrong by up to 300 s',
  },
  {
    name: 'broken-files',
    share: 0.25,
    isOfLaunchers: false,
    text: 'files of launchers are broken for a while',
  },
  {
    name: 'restored-database',
    share: 0.1,
    isOfLaunchers: false,
    text: 'an older copy of the database comes back, with launchers stopped or below running ones',
  },
  {
    name: 'lost-database',
    share: 0.1,
    isOfLaunchers: false,
    text: 'the database comes back empty, with launchers stopped or below running ones',
  },
] as const satisfies readonly Fault[];

export type FaultName = (typeof FAULTS)[number]['name'];

/** Keeps the draw apart from all others of the seed. */
const SALT = 0x5eed_fa17;

/**
 * The faults of a run.
 * @param only - these, whatever the seed draws; default: what it draws
 */
export function drawFaults(
  seed: number,
  isOfLaunchers: boolean,
  only: readonly FaultName[] = [],
): ReadonlySet<FaultName> {
  if (only.length > 0) return new Set(only);
  const random = new Random(seed ^ SALT);
  const drawn = FAULTS.filter(({ share }) => random.chance(share));
  return new Set(drawn.filter((fault) => fault.isOfLaunchers || !isOfLaunchers).map(({ name }) => name));
}
