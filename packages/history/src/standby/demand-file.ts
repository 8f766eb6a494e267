import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeDirectory } from '@nodepool/zk-protocol';

/** One slot of demand. */
export interface SlotRecord {
  readonly slot: number;
  /** Requests by need, of each label that was asked for. */
  readonly needs: Readonly<Record<string, readonly number[]>>;
  /** Times of the launches that ended, by label. */
  readonly bootsMs: Readonly<Record<string, readonly number[]>>;
  /** The most standby nodes that were to be kept, by label. */
  readonly kept: Readonly<Record<string, number>>;
}

/** What a file holds, and how much of it cannot be used. */
export interface StoredDemand {
  /** Each slot once, in order of time. */
  readonly slots: readonly SlotRecord[];
  readonly damagedLines: number;
}

/**
 * Reads a file of demand and removes what is damaged or older from it. A missing file is empty.
 * @param from - the oldest slot to keep
 */
export async function readDemand(path: string, from: number): Promise<StoredDemand> {
  const lines = (await readFile(path, 'utf8').catch(ifMissing)).split('\n').filter((line) => line !== '');
  const bySlot = new Map<number, SlotRecord>();
  let damagedLines = 0;
  for (const line of lines) {
    const record = decodeSlot(line);
    if (!record) damagedLines++;
    else if (record.slot >= from && !bySlot.has(record.slot)) bySlot.set(record.slot, record);
  }
  const slots = [...bySlot.values()].sort((a, b) => a.slot - b.slot);
  if (slots.length < lines.length) {
    await writeFile(`${path}.new`, slots.map(encodeSlot).join(''));
    await rename(`${path}.new`, path);
  }
  return { slots, damagedLines };
}

/** Appends one slot. */
export async function appendDemand(path: string, record: SlotRecord): Promise<void> {
  await makeDirectory(dirname(path));
  await appendFile(path, encodeSlot(record));
}

function encodeSlot({ slot, needs, bootsMs, kept }: SlotRecord): string {
  return `${JSON.stringify({ slot, needs, boots: bootsMs, kept })}\n`;
}

function decodeSlot(line: string): SlotRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { slot, needs, boots, kept = {} } = Object(value) as Record<string, unknown>;
  if (!Number.isSafeInteger(slot) || !isCounts(needs) || !isCounts(boots) || !isNumbers(kept)) return undefined;
  return { slot: slot as number, needs, bootsMs: boots, kept };
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

function ifMissing(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
  throw error;
}
