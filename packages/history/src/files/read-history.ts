import { basename } from 'node:path';
import { decodeLine, type PastLine } from '../record/event.js';
import { listHistoryFiles, readUndamaged, type HistoryFile, type OnDamage } from './stored-files.js';

const NEW_LINE = 10;
/** A page ends with the first block that reaches this size. */
const PAGE_BYTES = 1024 * 1024;
const CURSOR = /^(\d+-[0-9a-f]+)@(\d+)$/;

/** Lines about one request or node, written by one run of a launcher. */
export interface RunLines {
  readonly run: string;
  /** Time of the last line of this run, about any request or node. */
  readonly heardMs: number;
  readonly lines: readonly PastLine[];
}

/** Finds all lines about a request or node, grouped by run, oldest run first. Yields to the event loop between blocks. */
export async function readHistory(directory: string, id: string, onDamage: OnDamage): Promise<RunLines[]> {
  const runs = new Map<string, { run: string; heardMs: number; lines: PastLine[] }>();
  for (const file of await listHistoryFiles(directory)) {
    const found = await readFile(file, id, onDamage);
    const run = runs.get(file.run) ?? { run: file.run, heardMs: 0, lines: [] };
    runs.set(file.run, run);
    run.heardMs = Math.max(run.heardMs, found.heardMs);
    run.lines.push(...found.lines);
  }
  return [...runs.values()].filter(({ lines }) => lines.length > 0);
}

async function readFile(
  file: HistoryFile,
  id: string,
  onDamage: OnDamage,
): Promise<{ heardMs: number; lines: PastLine[] }> {
  const needle = Buffer.from(`"${id}"`);
  const lines: PastLine[] = [];
  let heardMs = file.beganMs;
  for await (const block of readUndamaged(file, onDamage)) {
    lines.push(...linesWith(block, needle, file.beganMs).filter((line) => isAbout(line, id)));
    heardMs = Math.max(heardMs, timeOf(lastLine(block, file.beganMs)));
  }
  return { heardMs, lines };
}

function linesWith(text: Buffer, needle: Buffer, baseMs: number): PastLine[] {
  const found: PastLine[] = [];
  for (let at = text.indexOf(needle); at >= 0;) {
    const begin = text.lastIndexOf(NEW_LINE, at) + 1;
    const end = text.indexOf(NEW_LINE, at);
    const line = decodeLine(text.toString('utf8', begin, end), baseMs);
    if (line) found.push(line);
    at = text.indexOf(needle, end);
  }
  return found;
}

function lastLine(text: Buffer, baseMs: number): PastLine | undefined {
  if (text.length === 0) return undefined;
  const begin = text.lastIndexOf(NEW_LINE, text.length - 2) + 1;
  return decodeLine(text.toString('utf8', begin, text.length - 1), baseMs);
}

function timeOf(line: PastLine | undefined): number {
  if (!line) return 0;
  return line.kind === 'alive' ? line.timeMs : (line.events.at(-1)?.timeMs ?? 0);
}

/** A line may also mention the id without being about it, for example as the request that another one waits behind. */
function isAbout(line: PastLine, id: string): boolean {
  if (line.kind === 'alive') return false;
  return line.id === id || (line.kind === 'node' && line.facts.request === id);
}

/** Selects a page of the history. */
export interface PageQuery {
  /** Files last written before this time are left out. */
  readonly sinceMs: number;
  /** Files begun after this time are left out. */
  readonly untilMs: number;
  /** {@link HistoryPage.next} of the previous page; `undefined`: the first page. */
  readonly after: string | undefined;
}

/** Consecutive lines of one file. */
export interface HistoryPage {
  /** Times in the lines are relative to this time. */
  readonly baseMs: number;
  readonly lines: readonly string[];
  /** Cursor of the next page; `undefined`: this is the last one. */
  readonly next: string | undefined;
}

/** Reads one page of the history. A file that was deleted since the previous page is skipped. */
export async function readHistoryPage(
  directory: string,
  { sinceMs, untilMs, after }: PageQuery,
  onDamage: OnDamage,
): Promise<HistoryPage> {
  const files = (await listHistoryFiles(directory)).filter(
    ({ beganMs, modifiedMs }) => beganMs <= untilMs && modifiedMs >= sinceMs,
  );
  const [, name = '', offset = '0'] = CURSOR.exec(after ?? '') ?? [];
  const began = Number.parseInt(name || '0', 10);
  // two files may have begun at the same millisecond, so their names decide
  const at = files.findIndex((file) => file.beganMs > began || (file.beganMs === began && nameOf(file) >= name));
  const file = files[at];
  if (!file) return { baseMs: 0, lines: [], next: undefined };
  const from = nameOf(file) === name ? Number(offset) : 0;
  const { text, isEnd } = await readFrom(file, from, onDamage);
  const following = files[at + 1];
  const afterFile = following && `${nameOf(following)}@0`;
  return {
    baseMs: file.beganMs,
    lines: text.toString('utf8').split('\n').slice(0, -1),
    next: isEnd ? afterFile : `${nameOf(file)}@${from + text.length}`,
  };
}

/** Reads whole lines from an offset on. */
async function readFrom(
  file: HistoryFile,
  offset: number,
  onDamage: OnDamage,
): Promise<{ text: Buffer; isEnd: boolean }> {
  const blocks: Buffer[] = [];
  let passed = 0;
  let bytes = 0;
  for await (const block of readUndamaged(file, onDamage)) {
    const wanted = block.subarray(Math.max(0, offset - passed));
    passed += block.length;
    if (wanted.length === 0) continue;
    blocks.push(wanted);
    bytes += wanted.length;
    if (bytes >= PAGE_BYTES) return { text: Buffer.concat(blocks), isEnd: false };
  }
  return { text: Buffer.concat(blocks), isEnd: true };
}

/** The name without suffixes: compressing a file must not invalidate a cursor. */
function nameOf({ path }: HistoryFile): string {
  return basename(path).replace(/\..*$/, '');
}

/** All lines of the files begun before a time, oldest file first. Damaged lines are skipped. */
export async function* readLines(directory: string, untilMs: number, onDamage: OnDamage): AsyncGenerator<PastLine> {
  for (const file of await listHistoryFiles(directory)) {
    if (file.beganMs > untilMs) continue;
    for await (const block of readUndamaged(file, onDamage)) {
      for (const text of block.toString('utf8').split('\n')) {
        const line = text === '' ? undefined : decodeLine(text, file.beganMs);
        if (line) yield line;
      }
    }
  }
}
