import { basename } from 'node:path';
import { listHistoryFiles, readUndamaged, type HistoryFile, type OnDamage } from './stored-files.js';

/** Text of one page; a page holds whole lines, so it may be somewhat more. */
const PAGE_BYTES = 1024 * 1024;
const CURSOR = /^(\d+-[0-9a-f]+)@(\d+)$/;

/** Which part of the record is wanted. */
export interface PageQuery {
  /** What is older is left out, file by file. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Where the page before ended; `undefined`: the first one. */
  readonly after: string | undefined;
}

/** A piece of the record. */
export interface HistoryPage {
  /** Times in the lines are told from here on. */
  readonly baseMs: number;
  readonly lines: readonly string[];
  /** For the next page; `undefined`: this is the last. */
  readonly next: string | undefined;
}

/** Reads a page of what is in the files. */
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
  // one that is gone by now is stepped over; two may have begun at the same moment
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

/** Whole lines from an offset on. */
async function readFrom(
  file: HistoryFile,
  offset: number,
  onDamage: OnDamage,
): Promise<{ text: Buffer; isEnd: boolean }> {
  const pieces: Buffer[] = [];
  let passed = 0;
  let bytes = 0;
  for await (const piece of readUndamaged(file, onDamage)) {
    const wanted = piece.subarray(Math.max(0, offset - passed));
    passed += piece.length;
    if (wanted.length === 0) continue;
    pieces.push(wanted);
    bytes += wanted.length;
    if (bytes >= PAGE_BYTES) return { text: Buffer.concat(pieces), isEnd: false };
  }
  return { text: Buffer.concat(pieces), isEnd: true };
}

function nameOf({ path }: HistoryFile): string {
  return basename(path).replace(/\..*$/, '');
}
