import { decodeLine, type PastLine } from '../record/event.js';
import { listHistoryFiles, readUndamaged, type HistoryFile, type OnDamage } from './stored-files.js';

const NEW_LINE = 10;

/** What one run of a launcher has on record of a request or node. */
export interface RunLines {
  readonly run: string;
  /** When it last wrote anything. */
  readonly heardMs: number;
  readonly lines: readonly PastLine[];
}

/** Finds all lines that name an id, run by run, the oldest first. Reads in pieces, so that nothing else has to wait. */
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
  for await (const whole of readUndamaged(file, onDamage)) {
    lines.push(...linesWith(whole, needle, file.beganMs).filter((line) => concerns(line, id)));
    heardMs = Math.max(heardMs, timeOf(lastLine(whole, file.beganMs)));
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

/** Ids stand in the lines of others, too: of those that wait behind a request, for instance. */
function concerns(line: PastLine, id: string): boolean {
  if (line.kind === 'alive') return false;
  return line.id === id || (line.kind === 'node' && line.facts.request === id);
}
