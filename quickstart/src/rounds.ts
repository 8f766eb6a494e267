import { setTimeout as delay } from 'node:timers/promises';
import { countRequests, listNodes, visitNodes } from './nodepool.js';
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

async function waitUntilClean(command: NodepoolCommand, slots: () => number): Promise<number> {
  const deadline = performance.now() + CLEAN_TIMEOUT_MS;
  for (;;) {
    const [nodes, requests] = await Promise.all([listNodes(command), countRequests(command)]);
    const free = nodes.filter(({ state, locked }) => state === 'ready' && locked === 'unlocked').length;
    if (requests === 0 && free === nodes.length && free >= slots()) return free;
    if (performance.now() > deadline) {
      throw new QuickStartError(
        `still not clean: ${requests} requests, ${free} of ${slots()} nodes ready and unlocked`,
      );
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
  await visitNodes(
    command,
    labels,
    (line) => say(`  ${line}`),
    (line) => say(`  ${withoutTime(line)}`),
  );
  say('  returned');
  const free = await waitUntilClean(command, slots);
  say(`  clean: no request, no lock, ${free} nodes ready again`);
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
