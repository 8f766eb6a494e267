import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type CancelTimer, systemClock } from '../../base/clock.js';
import type { FileSystem, StorageFile } from './file-system.js';

const NAME = 'acknowledged';
const SLOT_BYTES = 64;
const CHECKED_BYTES = 40;
const MAGIC = Buffer.from('NPZKACK1');
/** How far the file may lag behind after a power failure. It is current after a killed process. */
const SYNC_EVERY_MS = 500;

/** Position up to which writes were acknowledged. */
export interface Acknowledged {
  /** Last acknowledged transaction. */
  zxid: number;
  /** First transaction of its log file, which is in the file name. */
  logZxid: number;
  /** End of its record in the log file. */
  offset: number;
}

/** Path of the file in a data directory. */
export function acknowledgedPath(directory: string): string {
  return join(directory, NAME);
}

/**
 * Stores how far the log was acknowledged, so that a later start can distinguish a torn write from a lost acknowledged one.
 * Writes two slots in turn, each with a checksum.
 */
export class AcknowledgedFile {
  private readonly slot = Buffer.alloc(SLOT_BYTES);
  private cancelSync: CancelTimer | undefined;
  private syncing: Promise<void> | undefined;

  private constructor(
    private readonly file: StorageFile,
    private sequence: number,
  ) {}

  /** Opens or creates the file, and stores `now` durably. */
  static async open(fs: FileSystem, directory: string, now: Acknowledged): Promise<AcknowledgedFile> {
    const path = acknowledgedPath(directory);
    const before = await readSlots(fs, directory);
    const file = await fs.open(path, before === undefined ? 'create' : 'existing');
    // Write both slots now, so that later notes need no disk space.
    if (before === undefined) await file.write(Buffer.alloc(2 * SLOT_BYTES), 0);
    const opened = new AcknowledgedFile(file, (before?.sequence ?? 0) + 1);
    opened.note(now);
    await file.sync();
    await fs.syncDirectory(directory);
    return opened;
  }

  /** Call when a batch is durable, before it is acknowledged to clients. */
  note({ zxid, logZxid, offset }: Acknowledged): void {
    const { slot } = this;
    MAGIC.copy(slot);
    writeLong(slot, this.sequence, 8);
    writeLong(slot, zxid, 16);
    writeLong(slot, logZxid, 24);
    writeLong(slot, offset, 32);
    slot.writeUInt32BE(crc32(slot.subarray(0, CHECKED_BYTES)), CHECKED_BYTES);
    this.file.writeNow(slot, (this.sequence % 2) * SLOT_BYTES);
    this.sequence++;
    this.cancelSync ??= systemClock.setTimer(SYNC_EVERY_MS, () => this.sync());
  }

  async close(): Promise<void> {
    this.cancelSync?.();
    await this.syncing;
    try {
      await this.file.sync();
    } finally {
      await this.file.close();
    }
  }

  private sync(): void {
    this.cancelSync = undefined;
    // A failure loses no data: the log has its own syncs, whose failures are handled.
    this.syncing = this.file.sync().catch(() => undefined);
  }
}

/** Avoids a BigInt, as it runs for each batch. */
function writeLong(slot: Buffer, value: number, at: number): void {
  slot.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at);
  slot.writeUInt32BE(value >>> 0, at + 4);
}

/** The stored position; `undefined` if there is none or it is unreadable. */
export async function readAcknowledged(fs: FileSystem, directory: string): Promise<Acknowledged | undefined> {
  return readSlots(fs, directory);
}

async function readSlots(
  fs: FileSystem,
  directory: string,
): Promise<(Acknowledged & { sequence: number }) | undefined> {
  if (!(await fs.list(directory)).includes(NAME)) return undefined;
  const file = await fs.open(acknowledgedPath(directory), 'existing');
  const content = await file.read(2 * SLOT_BYTES, 0).finally(() => file.close());
  const slots = [readSlot(content, 0), readSlot(content, SLOT_BYTES)].filter((slot) => slot !== undefined);
  return slots.sort((a, b) => b.sequence - a.sequence)[0];
}

function readSlot(file: Buffer, at: number): (Acknowledged & { sequence: number }) | undefined {
  const slot = file.subarray(at, at + SLOT_BYTES);
  if (slot.length < SLOT_BYTES || !slot.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (crc32(slot.subarray(0, CHECKED_BYTES)) !== slot.readUInt32BE(CHECKED_BYTES)) return undefined;
  return {
    sequence: Number(slot.readBigUInt64BE(8)),
    zxid: Number(slot.readBigUInt64BE(16)),
    logZxid: Number(slot.readBigUInt64BE(24)),
    offset: Number(slot.readBigUInt64BE(32)),
  };
}
