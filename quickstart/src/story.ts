import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { say } from './terminal.js';

const POLL_MS = 30;

/** What is told of a line in the launcher's log: `$<name>` stands for what was found. */
export interface Telling {
  readonly line: RegExp;
  readonly text: string;
  /** What it says about how many machines there are. */
  readonly change?: 'one-more' | 'one-less';
}

const NODE = String.raw`\[node: (?<node>\d+)\]`;
/** What the launcher's log says about machines that are made on demand. */
export const MACHINES: readonly Telling[] = [
  {
    line: /Asked for backing nodes .*nodes=\{"[^"]*":(?<count>\d+)\}/,
    text: 'no slot is free: asked for $<count> more',
  },
  {
    line: /\[node_request: (?<request>[\d-]+)\] Accepted request .*requestor=NodePool:metastatic:/,
    text: 'request $<request> for a machine is accepted: it is launched',
  },
  {
    line: new RegExp(`${NODE} Node is ready .*externalId=i-.* ms=(?<ms>\\d+)`),
    text: 'machine $<node> is ready after $<ms> ms, its host keys are scanned',
    change: 'one-more',
  },
  {
    line: new RegExp(`${NODE} Took a backing node over .*slots=(?<slots>\\d+)`),
    text: 'machine $<node> has $<slots> slots',
  },
  {
    line: new RegExp(`${NODE} Gave a backing node back .*ageMs=(?<age>\\d+)`),
    text: 'machine $<node> is given back: no job since its grace time; it is $<age> ms old',
  },
  {
    line: new RegExp(`${NODE} Deleted node .*externalId=i-`),
    text: 'machine $<node> is deleted',
    change: 'one-less',
  },
];

/** What the builder's log says about images. */
export const IMAGES: readonly Telling[] = [
  {
    line: /Build is ready .*build=(?<node>[0-9a-f]{8})[0-9a-f]*/,
    text: 'image build $<node> is ready',
  },
  {
    line: /Upload is ready .*build=(?<node>[0-9a-f]{8})[0-9a-f]* .*/,
    text: 'image build $<node> is uploaded: machines are launched from it from now on',
    change: 'one-more',
  },
  {
    line: /Upload removed .*build=(?<node>[0-9a-f]{8})[0-9a-f]* .*/,
    text: 'image build $<node> is removed: there are two newer ones',
    change: 'one-less',
  },
];

/** Reads a log as it grows, and tells what concerns us. */
export class Story {
  readonly #file: FileHandle;
  readonly #machines = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #rest = '';

  private constructor(
    file: FileHandle,
    private readonly tellings: readonly Telling[],
  ) {
    this.#file = file;
  }

  /** Begins at the beginning of the log. */
  static async follow(logFile: string, tellings: readonly Telling[]): Promise<Story> {
    const story = new Story(await open(logFile), tellings);
    story.#readLater();
    return story;
  }

  /** Machines, or images, that are known to exist. Those of an earlier run are not. */
  get machines(): number {
    return this.#machines.size;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#file.close();
  }

  #readLater(): void {
    this.#timer = setTimeout(() => void this.#read().then(() => this.#readLater(), ignoreClosed), POLL_MS);
  }

  async #read(): Promise<void> {
    const text = this.#rest + (await this.#file.readFile('utf8'));
    const lines = text.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#tell(line);
  }

  #tell(line: string): void {
    for (const telling of this.tellings) {
      const found = telling.line.exec(line);
      if (found === null) continue;
      say(`  cloud: ${found[0].replace(telling.line, telling.text)}`);
      const node = found.groups?.['node'] ?? '';
      if (telling.change === 'one-more') this.#machines.add(node);
      if (telling.change === 'one-less') this.#machines.delete(node);
    }
  }
}

/** The file was closed while it was read: there is nothing more to tell. */
function ignoreClosed(): void {}
