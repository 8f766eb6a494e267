import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { say } from './terminal.js';

const POLL_MS = 30;

/** What to print for a line of a log: `$<name>` is replaced by the group of this name. */
export interface Telling {
  readonly line: RegExp;
  readonly text: string;
  /** What it says about how many machines there are. */
  readonly change?: 'one-more' | 'one-less';
  /** How often it is printed for one `image`. Default: always. */
  readonly times?: number;
  /** What it says about how things go: when that changes, everything is news again. */
  readonly outcome?: 'good' | 'bad';
}

const NODE = String.raw`\[node: (?<node>\d+)\]`;
/** What the launcher's log says about machines that are made on demand. */
export const MACHINES: readonly Telling[] = [
  {
    line: /Requested backing nodes .*nodes=\{"[^"]*":(?<count>\d+)\}/,
    text: 'no machine has a free slot: $<count> more needed',
  },
  {
    line: /\[node_request: (?<request>[\d-]+)\] Accepted request .*requestor=NodePool:metastatic:/,
    text: 'a machine is being made',
  },
  {
    line: new RegExp(`${NODE} Node is ready .*externalId=(?:i|np\\d+)-.* ms=(?<ms>\\d+)`),
    text: 'machine $<node> is ready after $<ms> ms, its SSH host keys are known',
    change: 'one-more',
  },
  {
    line: new RegExp(`${NODE} Took over backing node .*slots=(?<slots>\\d+)`),
    text: 'machine $<node> takes $<slots> jobs at a time',
  },
  {
    line: new RegExp(`${NODE} Returned backing node .*ageMs=(?<age>\\d+)`),
    text: 'machine $<node> has had no job for a while: it is given back',
  },
  {
    line: new RegExp(`${NODE} Deleted node .*externalId=(?:i|np\\d+)-`),
    text: 'machine $<node> is deleted',
    change: 'one-less',
  },
];

const BUILD = String.raw`image=(?<image>\S+) build=(?<node>[0-9a-f]{8})[0-9a-f]*`;
/** What the builder's log says about images. */
export const IMAGES: readonly Telling[] = [
  {
    line: new RegExp(`Build is ready ${BUILD} .*`),
    text: 'image build $<node> is ready',
    times: 2,
    outcome: 'good',
  },
  {
    line: new RegExp(`Upload is ready ${BUILD} .*`),
    text: 'image build $<node> is uploaded: new machines boot from it',
    change: 'one-more',
    times: 2,
  },
  {
    line: new RegExp(`Upload removed ${BUILD} .*`),
    text: 'image build $<node> is removed: two newer ones exist; later builds are not shown',
    change: 'one-less',
    times: 1,
  },
  {
    line: new RegExp(`Build failed; .*${BUILD} reason="?(?<reason>.*?)"?$`),
    text: 'image build $<node> has failed: $<reason>',
    times: 1,
    outcome: 'bad',
  },
];

/** Reads a log as it grows, and tells what concerns us. */
export class Story {
  readonly #file: FileHandle;
  readonly #machines = new Set<string>();
  readonly #told = new Map<Telling, Map<string, number>>();
  readonly #outcomes = new Map<string, Telling['outcome']>();
  #timer: NodeJS.Timeout | undefined;
  #rest = '';

  private constructor(
    file: FileHandle,
    private readonly tellings: readonly Telling[],
    private readonly say: (text: string) => void,
  ) {
    this.#file = file;
  }

  /** Begins at the beginning of the log. */
  static async follow(logFile: string, tellings: readonly Telling[], tell = say): Promise<Story> {
    const story = new Story(await open(logFile), tellings, tell);
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
      if (this.#isNews(telling, found.groups?.['image'] ?? ''))
        this.say(`  cloud: ${found[0].replace(telling.line, telling.text)}`);
      const node = found.groups?.['node'] ?? '';
      if (telling.change === 'one-more') this.#machines.add(node);
      if (telling.change === 'one-less') this.#machines.delete(node);
    }
  }

  #isNews(telling: Telling, image: string): boolean {
    const { times = Infinity, outcome } = telling;
    if (outcome !== undefined && this.#outcomes.get(image) !== outcome) {
      this.#outcomes.set(image, outcome);
      for (const counts of this.#told.values()) counts.delete(image);
    }
    const counts = this.#told.get(telling) ?? new Map<string, number>();
    const count = (counts.get(image) ?? 0) + 1;
    this.#told.set(telling, counts.set(image, count));
    return count <= times;
  }
}

/** The file was closed while it was read: there is nothing more to tell. */
function ignoreClosed(): void {}
