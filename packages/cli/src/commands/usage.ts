import { priceOf } from '@nodepool/core/config';
import { sumUsage, USAGE_KEYS, UsageRecord, type UsageKey } from '@nodepool/history';
import { defineCommand, last, text, texts } from '../command/command.js';
import { inform, type CliContext } from '../command/context.js';
import { parseMoment } from '../command/duration.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { loadIfPresent } from '../connection/connection.js';
import { readPast } from '../replay/read-past.js';
import { checkFields, printListing } from '../terminal/output.js';
import { findExistingNodes } from '../usage/existing-nodes.js';
import { usageListing } from '../usage/usage-listing.js';

/** `nodepool usage`. */
export const command = defineCommand({
  options: {
    by: { choices: USAGE_KEYS, default: 'tenant', describe: 'what to split by' },
    since: { type: 'string', default: '24h', requiresArg: true, value: 'TIME', describe: 'begin of the time' },
    until: { type: 'string', default: '0s', requiresArg: true, value: 'TIME', describe: 'end of the time' },
    from: {
      ...{ type: 'string', array: true, requiresArg: true, value: 'DIR|URL' },
      describe: 'folder with the history of a launcher, or its web server [all that are registered]',
    },
  },
  reads: true,
  parse: (values) => ({
    by: last(values, 'by') as UsageKey,
    since: parseMoment(text(values, 'since') ?? '', '--since'),
    until: parseMoment(text(values, 'until') ?? '', '--until'),
    sources: texts(values, 'from'),
  }),
  run: showUsage,
});

interface UsageArguments {
  readonly by: UsageKey;
  readonly since: (nowMs: number) => number;
  readonly until: (nowMs: number) => number;
  readonly sources: readonly string[];
}

/** `nodepool usage`: resource-seconds, from the history of launchers. */
async function showUsage(context: CliContext, { by, since, until, sources }: UsageArguments): Promise<void> {
  const nowMs = context.clock.now();
  const window = { sinceMs: since(nowMs), untilMs: Math.min(until(nowMs), nowMs) };
  if (window.sinceMs >= window.untilMs) throw new UsageError('--since must be before --until, and in the past');
  const listing = usageListing(by);
  checkFields(context, [listing]);
  const labels = (await loadIfPresent(context))?.labels;
  const record = new UsageRecord();
  // a node may have begun its present phase at any time before
  const { answered } = await readPast(context, record, sources, { sinceMs: 0, untilMs: window.untilMs });
  const exists = await findExistingNodes(answered);
  const { rows, notes } = sumUsage(record, {
    ...window,
    ...{ by, exists, priceOf: (label, provider) => priceOf(labels?.get(label), provider) },
  });
  if (rows.length === 0) throw new CliError(`No node is on record for this time${reachOf(record)}`);
  for (const note of notes) inform(`nodepool: ${note}`);
  printListing(context, listing, rows);
}

function reachOf({ fromMs, toMs }: UsageRecord): string {
  if (fromMs > toMs) return ': launchers keep a history of one day unless "history" says otherwise';
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return `: the history reaches from ${from} to ${to}, choose another time with --since`;
}
