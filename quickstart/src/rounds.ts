import { setTimeout as delay } from 'node:timers/promises';
import type { ElasticLabel, QuickStartConfiguration } from './configuration.js';
import { playElasticRound } from './elastic-round.js';
import type { Stage } from './elastic-round.js';
import { visitNodes } from './nodepool.js';
import { QuickStartError, say } from './terminal.js';
import { Usage, withoutTime } from './usage.js';

const PAUSE_MS = 1500;

/** What the rounds need to know, asked anew for each because the configuration may change meanwhile. */
type Current = Pick<QuickStartConfiguration, 'labels' | 'elastic'>;

/** Labels of one request, or a label for which machines come and go. */
type Round = readonly string[] | ElasticLabel;

interface RoundOptions {
  readonly once: boolean;
  /** Labels to ask for each time; empty: those of the configuration in turn. */
  readonly fixed: readonly string[];
  current(): Current;
}

/** One request from its beginning until every node is ready for the next. */
async function playRound({ command, fixedSlots }: Stage, labels: readonly string[]): Promise<void> {
  say(`$ nodepool run ${labels.join(' ')} -- node visit.js`);
  const usage = new Usage();
  const onOutput = (line: string) => say(`  ${line}`);
  const onProgress = (stamped: string) => {
    const line = withoutTime(stamped);
    usage.read(line);
    onOutput(line);
  };
  await visitNodes(command, labels, { onOutput, onProgress });
  say('  returned');
  const free = await usage.waitUntilClean(command, fixedSlots);
  say(`  clean: request, nodes and locks are gone; ${free} nodes ready`);
}

/** Each label of fixed machines alone, then all together, then elastic ones. */
function allRounds({ labels, elastic }: Current): Round[] {
  const together = labels.length > 1 ? [labels] : [];
  return [...labels.map((label) => [label]), ...together, ...elastic];
}

/** One of each kind. */
function oneOfEachKind({ labels, elastic }: Current): Round[] {
  return [...labels.slice(0, 1).map((label) => [label]), ...elastic.slice(0, 1)];
}

const isElastic = (round: Round): round is ElasticLabel => 'slots' in round;

/** Other machines are made from an image, which cannot be used before it was uploaded. */
const isOfFixedMachines = (round: readonly string[], { labels }: Current): boolean =>
  round.every((label) => labels.includes(label));

/** Plays rounds until the signal aborts, or one of each kind when `once`. */
export async function playRounds(stage: Stage, options: RoundOptions): Promise<void> {
  const choose = options.once ? oneOfEachKind : allRounds;
  do {
    const rounds = options.fixed.length > 0 ? [options.fixed] : choose(options.current());
    if (rounds.length === 0) throw new QuickStartError('the configuration has no labels to ask for');
    for (const round of rounds) {
      if (isElastic(round)) await playElasticRound(stage, round);
      else {
        if (!isOfFixedMachines(round, options.current())) await stage.imageReady();
        await playRound(stage, round);
      }
      if (!options.once) await delay(PAUSE_MS, undefined, { signal: stage.command.signal });
    }
  } while (!options.once);
}
