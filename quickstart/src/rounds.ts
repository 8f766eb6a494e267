import { setTimeout as delay } from 'node:timers/promises';
import { isFree, listNodes, listRequests, visitNodes } from './nodepool.js';
import type { NodepoolCommand } from './nodepool.js';
import { QuickStartError, say } from './terminal.js';

const CLEAN_TIMEOUT_MS = 15_000;
const PAUSE_MS = 1500;

/** What the rounds need to know, asked anew for each because the configuration may change meanwhile. */
export interface Current {
  readonly labels: readonly string[];
  readonly slots: number;
}

/** Progress of `nodepool run`, without its own clock: every line here has ours. */
const withoutTime = (line: string) => line.replace(/^\[ *[\d.]+ s\] /, '');

/** What a round has used, read from the progress of `nodepool run`. */
interface Used {
  request: string;
  nodes: readonly string[];
}

/** Waits until the round has left nothing and every slot has a node again. Somebody else may hold some of them. */
async function waitUntilClean(command: NodepoolCommand, used: Used, slots: () => number): Promise<number> {
  const deadline = performance.now() + CLEAN_TIMEOUT_MS;
  for (;;) {
    const [nodes, requests] = await Promise.all([listNodes(command), listRequests(command)]);
    const left = [...nodes, ...requests].filter(({ id }) => id === used.request || used.nodes.includes(id));
    if (left.length === 0 && nodes.length >= slots()) return nodes.filter(isFree).length;
    if (performance.now() > deadline) {
      const what = left.length === 0 ? `${nodes.length} of ${slots()} nodes` : left.map(({ id }) => id).join(', ');
      throw new QuickStartError(`still not clean: ${what}`);
    }
  }
}

/** One request from its beginning until every node is ready for the next. */
export async function playRound(
  command: NodepoolCommand,
  labels: readonly string[],
  slots: () => number,
): Promise<void> {
  say(`$ nodepool run ${labels.join(' ')} -- node visit.js`);
  const used: Used = { request: '', nodes: [] };
  const onProgress = (stamped: string) => {
    const line = withoutTime(stamped);
    used.request = /^request (\S+)/.exec(line)?.[1] ?? used.request;
    used.nodes = /^fulfilled: (.*)/.exec(line)?.[1]?.split(', ') ?? used.nodes;
    say(`  ${line}`);
  };
  await visitNodes(command, labels, (line) => say(`  ${line}`), onProgress);
  say('  returned');
  const free = await waitUntilClean(command, used, slots);
  say(`  clean: request, nodes and locks are gone; ${free} nodes ready`);
}

/** Each label alone, then all together, and again. */
function* choices(current: () => Current): Generator<readonly string[]> {
  for (let round = 0; ; round += 1) {
    const { labels } = current();
    if (labels.length === 0) throw new QuickStartError('the configuration has no labels to ask for');
    const label = labels[round % (labels.length + 1)];
    yield label === undefined ? labels : [label];
  }
}

/**
 * Plays rounds until the signal aborts, or one when `once`.
 * @param fixed - labels to ask for each time; empty: those of the configuration in turn
 */
export async function playRounds(
  command: NodepoolCommand,
  options: { once: boolean; fixed: readonly string[]; current: () => Current },
): Promise<void> {
  for (const labels of choices(options.current)) {
    const wanted = options.fixed.length > 0 ? options.fixed : labels;
    await playRound(command, wanted, () => options.current().slots);
    if (options.once) return;
    await delay(PAUSE_MS, undefined, { signal: command.signal });
  }
}
