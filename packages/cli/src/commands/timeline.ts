import type { Json } from '@nodepool/zk-protocol';
import { defineCommand, flag, text, texts } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { findLauncherUrls } from '../connection/find-launchers.js';
import { askTimeline } from '../explain/ask-timeline.js';
import type { FoundTimeline } from '../explain/ask-timeline.js';
import { timelineToText } from '../explain/timeline-text.js';
import { kindOf } from '../explain/timeline.js';
import type { Timeline } from '../explain/timeline.js';
import { printValue } from '../terminal/output.js';
import { LAUNCHER_URL, launcherUrls } from './shared-options.js';

/** `nodepool timeline`. */
export const command = defineCommand({
  positionals: { id: { type: 'string', demandOption: true, describe: 'id of a request or node' } },
  options: {
    detail: { type: 'boolean', default: false, describe: 'with all decisions and events' },
    url: LAUNCHER_URL,
  },
  parse: (values) => ({
    id: text(values, 'id') ?? '',
    detail: flag(values, 'detail'),
    urls: launcherUrls(texts(values, 'url')),
  }),
  run: showTimeline,
});

interface TimelineArguments {
  readonly id: string;
  /** Print every event, too. */
  readonly detail: boolean;
  /** Web servers to ask instead of those the registry names. */
  readonly urls: readonly string[];
}

/** `nodepool timeline`: what a request waited for, or the states of a node, also after it is gone. */
async function showTimeline(context: CliContext, { id, detail, urls }: TimelineArguments): Promise<void> {
  const found = await findTimeline(context, id, urls);
  for (const failure of found.failures) inform(`nodepool: ${failure}`);
  if (!found.isAnswered) {
    throw new CliError('No launcher answered: the past is kept by launchers, start one or name its --url');
  }
  const { timeline } = found;
  if (timeline) {
    printTimeline(context, timeline, detail);
    return;
  }
  const kind = kindOf(id) === 'request' ? 'Request' : 'Node';
  const text = `${kind} id ${id} not found: no launcher has it on record`;
  if (context.options.strict) throw new CliError(text);
  print(text);
}

/** Prints a timeline in the format of the options. */
export function printTimeline(context: CliContext, timeline: Timeline, detail: boolean): void {
  for (const { url, error } of timeline.silent) inform(`nodepool: ${url}: ${error}; what it knows is missing`);
  if (context.options.format === 'table') print(timelineToText(timeline, context.clock.now(), detail));
  else printValue(context, timeline as unknown as Json);
}

function findTimeline(context: CliContext, id: string, urls: readonly string[]): Promise<FoundTimeline> {
  if (urls.length > 0) return askTimeline(urls, id, context.clock);
  return withZooKeeper(context, async (zk) => {
    const config = await loadIfPresent(context);
    return askTimeline(await findLauncherUrls({ ...context, zk }, config?.webapp), id, context.clock);
  });
}
