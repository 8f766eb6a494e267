import { hostTimeZone, priceOf } from '@nodepool/core/config';
import { adviseStandby, Past, tooUnsure, type AdvisedLabel } from '@nodepool/history/replay';
import type { StandbyGoal } from '@nodepool/history';
import { defineCommand, last, text, texts } from '../command/command.js';
import { inform, print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration, parseMoment } from '../command/duration.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { loadIfPresent } from '../connection/connection.js';
import { adviceLines, adviceListing, adviceRows } from '../replay/advice-listing.js';
import { readPast } from '../replay/read-past.js';
import { goalOf, labelOf, parseGoal } from '../replay/standby-goal.js';
import { checkFields, printListing } from '../terminal/output.js';

/** `nodepool advise`. */
export const command = defineCommand({
  options: {
    since: {
      type: 'string',
      default: '28d',
      requiresArg: true,
      value: 'TIME',
      describe: 'begin of the time to judge by',
    },
    'target-wait': {
      ...{ type: 'string', default: '5s', requiresArg: true, value: 'TIME' },
      describe: 'a wait up to this counts as none',
    },
    goal: {
      ...{ type: 'number', default: 95, requiresArg: true, value: 'PERCENT' },
      describe: 'requests to serve at once, for labels without a goal',
    },
    worth: {
      ...{ type: 'number', default: 30, requiresArg: true, value: 'NODE-HOURS' },
      describe: 'idle node-hours that an hour of waiting may cost',
    },
    label: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'LABEL' },
      describe: 'label to advise about [all of the configuration]',
    },
    from: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'DIR|URL' },
      describe: 'folder with the history of a launcher, or its web server [all that are registered]',
    },
  },
  reads: true,
  parse: (values) => ({
    since: parseMoment(text(values, 'since') ?? '', '--since'),
    goal: {
      ...{ goal: parseGoal(values), atMost: 100 },
      targetWaitMs: parseDuration(text(values, 'target-wait') ?? '', '--target-wait'),
    },
    worth: parseWorth(values),
    only: texts(values, 'label'),
    sources: texts(values, 'from'),
  }),
  run: showAdvice,
});

interface AdviceArguments {
  readonly since: (nowMs: number) => number;
  readonly goal: Omit<StandbyGoal, 'timeZone'>;
  readonly worth: number;
  /** Empty: all labels. */
  readonly only: readonly string[];
  readonly sources: readonly string[];
}

/** Time before the window that `auto` and schedules are learned from. */
const LEARNED_MS = 29 * 86_400_000;

/** `nodepool advise`: proposes standby nodes, from the history of launchers. */
async function showAdvice(context: CliContext, { since, goal, worth, only, sources }: AdviceArguments): Promise<void> {
  const nowMs = context.clock.now();
  const window = { sinceMs: since(nowMs), untilMs: nowMs };
  if (window.sinceMs >= nowMs) throw new UsageError('--since must be in the past');
  checkFields(context, [adviceListing]);
  const config = await loadIfPresent(context);
  if (!config) throw new UsageError('advise needs a configuration: nodepool advise -c FILE');
  const { labels, timeZone = hostTimeZone() } = config;
  for (const name of only)
    if (!labels.has(name)) throw new UsageError(`--label: the configuration has no label "${name}"`);
  const past = new Past();
  const { damagedLines } = await readPast(context, past, sources, { ...window, sinceMs: window.sinceMs - LEARNED_MS });
  const doubt = tooUnsure(past, damagedLines, nowMs);
  if (doubt !== undefined) throw new CliError(`Nothing is proposed, as ${doubt}`);
  const isAsked = (name: string) => only.length === 0 || only.includes(name);
  const asked: AdvisedLabel[] = [...labels.values()]
    .filter(({ name }) => isAsked(name))
    .map((label) => ({
      name: label.name,
      ...labelOf(label),
      minReady: label.minReady,
      goal: goalOf(label, { ...goal, timeZone }),
    }));
  const advices = adviseStandby(past, window, asked, worth).filter(({ label }) => isAsked(label));
  for (const { label, figures } of advices)
    if (figures && labels.get(label)?.keep === 'stopped')
      inform(
        `nodepool: label "${label}" keeps stopped nodes: figures are those of running ones; stopped ones cost their disk`,
      );
  printListing(
    context,
    adviceListing,
    adviceRows(advices, (label, provider) => priceOf(labels.get(label), provider)),
  );
  const { format, fields } = context.options;
  if (format === 'table' && !fields) for (const line of advices.flatMap(adviceLines)) print(line);
}

function parseWorth(values: Parameters<typeof last>[0]): number {
  const worth = last(values, 'worth') as number;
  if (!(worth > 0)) throw new UsageError('--worth needs a number of node-hours above 0');
  return worth;
}
