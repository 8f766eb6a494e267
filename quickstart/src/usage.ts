import { setTimeout as delay } from 'node:timers/promises';
import { isFree, listNodes, listRequests } from './nodepool.js';
import type { NodepoolCommand } from './nodepool.js';
import { QuickStartError, say } from './terminal.js';

const CLEAN_TIMEOUT_MS = 60_000;
const PAUSE_MS = 50;

/** Progress of `nodepool run`, without its own clock: every line here has ours. */
export const withoutTime = (line: string) => line.replace(/^\[ *[\d.]+ s\] /, '');

/** Requests and nodes of a round, read from the progress of `nodepool run`. */
export class Usage {
  readonly #ids = new Set<string>();

  /** Takes note of what a line of progress names. */
  read(line: string): void {
    const request = /^request (\S+)/.exec(line)?.[1];
    const nodes = /^fulfilled: (.*)/.exec(line)?.[1]?.split(', ') ?? [];
    for (const id of request === undefined ? nodes : [request, ...nodes]) this.#ids.add(id);
  }

  /** Waits until all of it is gone and every slot has a node again. @returns how many of these are free: another process may hold some */
  async waitUntilClean(command: NodepoolCommand, slots: () => number): Promise<number> {
    const deadline = performance.now() + CLEAN_TIMEOUT_MS;
    for (;;) {
      const [nodes, requests] = await Promise.all([listNodes(command), listRequests(command)]);
      const left = [...nodes, ...requests].filter(({ id }) => this.#ids.has(id));
      if (left.length === 0 && nodes.length >= slots()) return nodes.filter(isFree).length;
      if (performance.now() > deadline) {
        const what = left.length === 0 ? `${nodes.length} of ${slots()} nodes` : left.map(({ id }) => id).join(', ');
        throw new QuickStartError(`still not clean: ${what}`);
      }
      await delay(PAUSE_MS, undefined, { signal: command.signal });
    }
  }
}

let jobs = 0;

/** What happens to one job, in words of its user. */
export class JobTale {
  readonly #name = `job ${++jobs}`;
  readonly #labels: readonly string[];
  readonly #usage: Usage;
  #askedMs = 0;

  constructor(usage: Usage, labels: readonly string[]) {
    this.#usage = usage;
    this.#labels = labels;
  }

  say(text: string): void {
    say(`  ${this.#name}: ${text}`);
  }

  /** A line that a machine has printed. */
  readonly output = (line: string): void => this.say(line);

  /** A line of progress of `nodepool run` or `nodepool ssh`. @returns whether the job has its machines */
  readonly progress = (stamped: string): boolean => {
    const line = withoutTime(stamped);
    this.#usage.read(line);
    if (line.startsWith('request ')) {
      this.#askedMs = performance.now();
      this.say(`asks for ${this.#labels.map((label) => `"${label}"`).join(' and ')}`);
    }
    if (/^(accepted by|fulfilled|request |nodepool: )/.test(line)) return false;
    const isStarted = line === 'nodes locked and in use';
    const ms = Math.round(performance.now() - this.#askedMs);
    this.say(isStarted ? `got ${this.#labels.length === 1 ? 'it' : 'them'} after ${ms} ms` : line);
    return isStarted;
  };
}
