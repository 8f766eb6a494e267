import { setTimeout as delay } from 'node:timers/promises';
import type { ElasticLabel, QuickStartConfiguration } from './configuration.js';
import { playElasticRound } from './elastic-round.js';
import type { Stage } from './elastic-round.js';
import { sayHello, visitNodes } from './nodepool.js';
import { QuickStartError } from './terminal.js';
import { JobTale, Usage } from './usage.js';

const PAUSE_MS = 1500;

/** The part of the configuration that the rounds use; read again for each, as it may change. */
type Current = Pick<QuickStartConfiguration, 'labels' | 'own' | 'elastic'>;

/** Labels of one request, or a label for which machines come and go. */
type Round = readonly string[] | ElasticLabel;

interface RoundOptions {
  readonly once: boolean;
  /** Labels to ask for each time; empty: those of the configuration in turn. */
  readonly fixed: readonly string[];
  current(): Current;
}

/** One request from its beginning until every node is ready for the next. */
async function playRound({ command, fixedSlots }: Stage, labels: readonly string[], isOwn: boolean): Promise<void> {
  const usage = new Usage();
  const tale = new JobTale(usage, labels);
  const output = { onOutput: tale.output, onProgress: tale.progress };
  await (isOwn ? sayHello(command, labels[0] ?? '', output) : visitNodes(command, labels, output));
  await usage.waitUntilClean(command, isOwn ? () => 0 : fixedSlots);
  tale.say(`done: ${labels.length === 1 ? 'its machine is' : 'its machines are'} free again`);
}

/** Each label of fixed machines alone, then all together, then elastic ones. */
function allRounds({ labels, own, elastic }: Current): Round[] {
  const together = labels.length > 1 ? [labels] : [];
  return [...[...labels, ...own].map((label) => [label]), ...together, ...elastic];
}

/** One of each kind. */
function oneOfEachKind({ labels, own, elastic }: Current): Round[] {
  return [...[...labels.slice(0, 1), ...own.slice(0, 1)].map((label) => [label]), ...elastic.slice(0, 1)];
}

const isElastic = (round: Round): round is ElasticLabel => 'slots' in round;

/** Other machines are made from an image, which cannot be used before it was uploaded. */
const isOfFixedMachines = (round: readonly string[], { labels, own }: Current): boolean =>
  round.every((label) => labels.includes(label) || own.includes(label));

/** Machines of the user let in whom they know: ssh logs in, not the key of the quick start. */
const isOwn = ([label = '']: readonly string[], { own }: Current): boolean => own.includes(label);

/** Plays rounds until the signal aborts, or one of each kind when `once`. */
export async function playRounds(stage: Stage, options: RoundOptions): Promise<void> {
  const choose = options.once ? oneOfEachKind : allRounds;
  do {
    const rounds = options.fixed.length > 0 ? [options.fixed] : choose(options.current());
    if (rounds.length === 0)
      throw new QuickStartError(
        'no fixed machine in the configuration has a label; name the label to ask for: npm start -- --once -c FILE LABEL',
      );
    for (const round of rounds) {
      if (isElastic(round)) await playElasticRound(stage, round);
      else {
        if (!isOfFixedMachines(round, options.current())) await stage.imageReady();
        await playRound(stage, round, isOwn(round, options.current()));
      }
      if (!options.once) await delay(PAUSE_MS, undefined, { signal: stage.command.signal });
    }
  } while (!options.once);
}
