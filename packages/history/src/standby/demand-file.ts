import { appendFile, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectory } from '@nodepool/zk-protocol';

/** One slot of demand. */
export interface SlotRecord {
  readonly slot: number;
  /** It was not counted as a whole, or is not over; a later record of the slot takes its place. */
  readonly isPartial?: boolean;
  /** Requests by need, of each label that was asked for. */
  readonly needs: Readonly<Record<string, readonly number[]>>;
  /** Requests by need that no run of the schedule was for, of labels where these are others. */
  readonly unscheduled: Readonly<Record<string, readonly number[]>>;
  /** Times of the launches that ended, by label. */
  readonly bootsMs: Readonly<Record<string, readonly number[]>>;
  /** The most standby nodes that were to be kept, by label. */
  readonly kept: Readonly<Record<string, number>>;
  /** Requests served at once, and all that were served, by label. */
  readonly served: Readonly<Record<string, readonly number[]>>;
}

/** What a file holds, and how much of it cannot be used. */
export interface StoredDemand {
  /** Each slot once, in the order in which they were written. */
  readonly slots: readonly SlotRecord[];
  readonly damagedLines: number;
}

/**
 * Reads a file of demand line by line, as it may be larger than a string, and removes what is damaged from it, and the first slots if
 * there are too many: by their number and not by their age, which a clock that is ahead would have wrong. A missing file is empty.
 * @param most - number of slots to keep
 */
export async function readDemand(path: string, most: number): Promise<StoredDemand> {
  const bySlot = new Map<number, SlotRecord>();
  let lines = 0;
  let damagedLines = 0;
  for await (const line of linesOf(path)) {
    if (line === '') continue;
    lines++;
    const record = decodeSlot(line);
    if (!record) damagedLines++;
    else if (!record.isPartial || bySlot.get(record.slot)?.isPartial !== false) {
      bySlot.delete(record.slot);
      bySlot.set(record.slot, record);
    }
  }
  const kept = [...bySlot.values()].slice(-most);
  if (kept.length < lines) await replace(path, kept);
  return { slots: kept, damagedLines };
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const file = await open(path).catch(ifMissing);
  if (file) yield* file.readLines();
}

async function replace(path: string, records: readonly SlotRecord[]): Promise<void> {
  const file = await open(`${path}.new`, 'w');
  try {
    for (const record of records) await file.write(encodeSlot(record));
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

/** Appends one slot. */
export async function appendDemand(path: string, record: SlotRecord): Promise<void> {
  await makeDirectory(dirname(path));
  await appendFile(path, encodeSlot(record));
}

function encodeSlot({ slot, isPartial, needs, unscheduled, bootsMs, kept, served }: SlotRecord): string {
  const optional = Object.keys(unscheduled).length > 0 ? { unscheduled } : {};
  const partial = isPartial ? true : undefined;
  return `${JSON.stringify({ slot, partial, needs, ...optional, boots: bootsMs, kept, served })}\n`;
}

function decodeSlot(line: string): SlotRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const record = Object(value) as Record<string, unknown>;
  const { slot, partial, needs, unscheduled = {}, boots, kept = {}, served = {} } = record;
  if (!Number.isSafeInteger(slot) || !isCounts(needs) || !isCounts(boots) || !isNumbers(kept) || !isCounts(served))
    return undefined;
  if (!isCounts(unscheduled)) return undefined;
  return { slot: slot as number, isPartial: partial === true, needs, unscheduled, bootsMs: boots, kept, served };
}

function isNumbers(value: unknown): value is Record<string, number> {
  return isObject(value) && Object.values(value).every(isCount);
}

function isCounts(value: unknown): value is Record<string, number[]> {
  return isObject(value) && Object.values(value).every((counts) => Array.isArray(counts) && counts.every(isCount));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function ifMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}
