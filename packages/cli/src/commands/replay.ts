import type { Config } from '@nodepool/core';
import { createDriverRegistry, hostTimeZone } from '@nodepool/core/config';
import { Past, replay, replayStandby } from '@nodepool/history/replay';
import type { StandbyGoal } from '@nodepool/history';
import type { Window } from '@nodepool/history/replay';
import { defineCommand, flag, last, text, texts } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { parseDuration, parseMoment } from '../command/duration.js';
import { UsageError } from '../command/usage-error.js';
import { loadCheckedConfig } from '../configuration/problems.js';
import { driverPlaces, loadFullConfig } from '../connection/config.js';
import { readPast } from '../replay/read-past.js';
import { replayListing } from '../replay/replay-listing.js';
import { goalOf, labelOf, parseGoal } from '../replay/standby-goal.js';
import { standbyListing, standbyRows } from '../replay/standby-listing.js';
import { checkFields, printListing } from '../terminal/output.js';

/** `nodepool replay`. */
export const command = defineCommand({
  options: {
    since: { type: 'string', default: '24h', requiresArg: true, value: 'TIME', describe: 'begin of the replayed time' },
    until: { type: 'string', default: '0s', requiresArg: true, value: 'TIME', describe: 'end of the replayed time' },
    from: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'DIR|URL' },
      describe: 'folder with the history of a launcher, or its web server [all that are registered]',
    },
    also: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'FILE' },
      describe: 'configuration of another launcher to include',
    },
    'leave-out': {
      ...{ type: 'string', array: true, requiresArg: true, value: 'LABEL' },
      describe: 'label whose requests are not replayed',
    },
    seed: { type: 'number', default: 1, requiresArg: true, describe: 'random seed' },
    standby: { type: 'boolean', describe: 'compare numbers of standby nodes instead of configurations' },
    'target-wait': {
      ...{ type: 'string', default: '5s', requiresArg: true, value: 'TIME' },
      describe: 'with --standby: a wait up to this counts as none',
    },
    goal: {
      ...{ type: 'number', default: 95, requiresArg: true, value: 'PERCENT' },
      describe: 'with --standby: requests to serve at once, for labels without a goal',
    },
    'at-most': {
      type: 'number',
      default: 100,
      requiresArg: true,
      describe: 'with --standby: most standby nodes of a label',
    },
  },
  reads: true,
  parse(values) {
    if (text(values, 'c') === undefined) throw new UsageError('replay needs a configuration: nodepool replay -c FILE');
    const seed = last(values, 'seed') as number;
    if (!Number.isInteger(seed)) throw new UsageError('--seed needs a whole number');
    const atMost = last(values, 'at-most') as number;
    if (!Number.isInteger(atMost) || atMost < 0) throw new UsageError('--at-most needs a whole number, 0 or more');
    return {
      standby: flag(values, 'standby'),
      goal: {
        goal: parseGoal(values),
        ...{ targetWaitMs: parseDuration(text(values, 'target-wait') ?? '', '--target-wait'), atMost },
      },
      since: parseMoment(text(values, 'since') ?? '', '--since'),
      until: parseMoment(text(values, 'until') ?? '', '--until'),
      sources: texts(values, 'from'),
      also: texts(values, 'also'),
      leaveOut: texts(values, 'leave-out'),
      seed,
    };
  },
  run: showReplay,
});

/** Also read requests from before the window: they may still have had nodes in it. */
const BEFORE_MS = 6 * 3_600_000;

interface ReplayArguments {
  readonly since: (nowMs: number) => number;
  readonly until: (nowMs: number) => number;
  /** Folders and web servers; empty: the launchers of the registry. */
  readonly sources: readonly string[];
  readonly also: readonly string[];
  readonly leaveOut: readonly string[];
  readonly seed: number;
  /** Compare numbers of standby nodes. */
  readonly standby: boolean;
  readonly goal: Omit<StandbyGoal, 'timeZone'>;
}

/**
 * `nodepool replay`: replays the recorded requests with another configuration.
 * @returns the exit status: 1 when that configuration is not valid
 */
async function showReplay(context: CliContext, args: ReplayArguments): Promise<number> {
  const nowMs = context.clock.now();
  const window: Window = { sinceMs: args.since(nowMs), untilMs: args.until(nowMs) };
  if (window.sinceMs >= window.untilMs) throw new UsageError('--since must be before --until');
  checkFields(context, [args.standby ? standbyListing : replayListing]);
  const registry = createDriverRegistry(driverPlaces(context.options.configFile));
  const config = await loadCheckedConfig(context, registry);
  if (!config) return 1;
  const configs: Config[] = [config];
  for (const file of args.also)
    configs.push(await loadFullConfig({ ...context, options: { ...context.options, configFile: file } }, registry));
  if (args.standby) return showStandby(context, args, window, config);
  const past = new Past();
  await readPast(context, past, args.sources, { ...window, sinceMs: window.sinceMs - BEFORE_MS });
  const { seed } = args;
  const progress = progressOf(process.stderr);
  const { labels, notes } = await replay({
    ...{ past, window, configs, registry, seed, leaveOut: new Set(args.leaveOut) },
    progress: progress.show,
  }).finally(progress.clear);
  for (const note of notes) inform(`nodepool: ${note}`);
  printListing(context, replayListing, labels);
  return 0;
}

/** Time before the window that `auto` and schedules are learned from. */
const LEARNED_MS = 29 * 86_400_000;

async function showStandby(
  context: CliContext,
  { sources, goal, leaveOut }: ReplayArguments,
  window: Window,
  { labels, timeZone = hostTimeZone() }: Config,
): Promise<number> {
  const past = new Past();
  await readPast(context, past, sources, { ...window, sinceMs: window.sinceMs - LEARNED_MS });
  const all = replayStandby(
    past,
    window,
    (label) => goalOf(labels.get(label), { ...goal, timeZone }),
    (label) => labelOf(labels.get(label)),
  );
  const replays = all.filter(({ label }) => !leaveOut.includes(label));
  if (replays.length === 0) throw new CliError('No request of this time is on record: choose another one with --since');
  if (past.fromMs > window.sinceMs - WEEK_MS) {
    const begin = new Date(past.fromMs).toISOString();
    inform(
      `nodepool: the history begins at ${begin}: less than a week before the replayed time is known, of which schedules and auto are learned`,
    );
  }
  for (const { label } of replays.filter((each) => !labels.has(each.label)))
    inform(`nodepool: label "${label}" is not in the configuration`);
  printListing(context, standbyListing, standbyRows(replays));
  return 0;
}

const WEEK_MS = 7 * 86_400_000;

/** Progress, on a terminal. */
function progressOf(stream: NodeJS.WriteStream) {
  const write = (text: string) => void (stream.isTTY && stream.write(`\r\u001b[K${text}`));
  return {
    show: (share: number) => write(`replaying: ${Math.floor(share * 100)} %`),
    clear: () => write(''),
  };
}
