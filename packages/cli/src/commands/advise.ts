import { priceOf } from '@nodepool/core/config';
import { adviseStandby, Past, tooUnsure, type AdvisedLabel } from '@nodepool/history/replay';
import type { LabelConfig } from '@nodepool/core';
import type { StandbyGoal } from '@nodepool/history';
import { defineCommand, text, texts } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration, parseMoment } from '../command/duration.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { loadIfPresent } from '../connection/connection.js';
import { adviceListing, adviceRows } from '../replay/advice-listing.js';
import { readPast } from '../replay/read-past.js';
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
      describe: 'wait of 95 of 100 requests, for labels without standby',
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
    goal: { targetWaitMs: parseDuration(text(values, 'target-wait') ?? '', '--target-wait'), atMost: 100 },
    only: texts(values, 'label'),
    sources: texts(values, 'from'),
  }),
  run: showAdvice,
});

interface AdviceArguments {
  readonly since: (nowMs: number) => number;
  readonly goal: StandbyGoal;
  /** Empty: all labels. */
  readonly only: readonly string[];
  readonly sources: readonly string[];
}

/** Time before the window that the forecast looks at. */
const LEARNED_MS = 36 * 86_400_000;

/** `nodepool advise`: proposes standby nodes, from the history of launchers. */
async function showAdvice(context: CliContext, { since, goal, only, sources }: AdviceArguments): Promise<void> {
  const nowMs = context.clock.now();
  const window = { sinceMs: since(nowMs), untilMs: nowMs };
  if (window.sinceMs >= nowMs) throw new UsageError('--since must be in the past');
  checkFields(context, [adviceListing]);
  const labels = (await loadIfPresent(context))?.labels;
  if (!labels) throw new UsageError('advise needs a configuration: nodepool advise -c FILE');
  for (const name of only)
    if (!labels.has(name)) throw new UsageError(`--label: the configuration has no label "${name}"`);
  const past = new Past();
  const { damagedLines } = await readPast(context, past, sources, { ...window, sinceMs: window.sinceMs - LEARNED_MS });
  const doubt = tooUnsure(past, damagedLines, nowMs);
  if (doubt !== undefined) throw new CliError(`Nothing is proposed, as ${doubt}`);
  const isAsked = (name: string) => only.length === 0 || only.includes(name);
  const asked = [...labels.values()].filter(({ name }) => isAsked(name)).map((label) => advisedLabel(label, goal));
  const advices = adviseStandby(past, window, asked).filter(({ label }) => isAsked(label));
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
}

function advisedLabel({ name, minReady, standby }: LabelConfig, goal: StandbyGoal): AdvisedLabel {
  return { name, minReady, hasStandby: standby !== undefined, goal: standby ?? goal };
}
