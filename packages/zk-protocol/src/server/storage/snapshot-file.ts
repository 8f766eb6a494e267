import type { ServerModel } from '../model/server-model.js';
import { JuteReader, MalformedPacketError } from '../wire/jute-reader.js';
import { JuteWriter } from '../wire/jute-writer.js';
import { decodeSession, decodeZnode, expectKind, Kind } from './codec.js';
import type { FileSystem } from './file-system.js';
import { RECORD_HEADER_BYTES, writeRecord } from './record.js';
import { RecordFile } from './record-file.js';
import type { SnapshotSource } from './snapshot-source.js';

/** First bytes of a snapshot file. */
const MAGIC = Buffer.from('NPZKSNP1');

const PART_BYTES = 256 * 1024;

/** Writes a snapshot durably. Other work of the process continues between its parts. */
export async function writeSnapshot(fs: FileSystem, path: string, source: SnapshotSource): Promise<void> {
  const file = await fs.open(path, 'create');
  try {
    await file.write(MAGIC, 0);
    let position = MAGIC.length;
    for (let part = source.next(PART_BYTES); part !== undefined; part = source.next(PART_BYTES)) {
      const record = new JuteWriter(part.length + RECORD_HEADER_BYTES);
      const payload = part;
      writeRecord(record, { batch: 0, isFirst: false }, (writer) => writer.raw(payload));
      await file.write(record.finish(), position);
      position += record.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Fills an empty model from a snapshot file.
 * @throws {MalformedPacketError} the file is damaged or unfinished
 */
export async function readSnapshot(fs: FileSystem, path: string, model: ServerModel): Promise<void> {
  await RecordFile.use(fs, path, async (file) => {
    if (!(await file.beginsWith(MAGIC))) throw new MalformedPacketError('it is not a snapshot');
    const loader = new SnapshotLoader(model);
    const { at } = await file.readRecords(MAGIC.length, ({ payload }) => loader.take(payload));
    if (!loader.isComplete) throw new MalformedPacketError(`it is damaged at byte ${at}`);
  });
  model.tree.linkRestored();
}

/** Loads the records of a snapshot, in order, into an empty model. */
class SnapshotLoader {
  isComplete = false;
  private expected: number = Kind.snapshotHeader;
  private znodes = 0;

  constructor(private readonly model: ServerModel) {}

  take(payload: Buffer): void {
    const reader = new JuteReader(payload);
    if (this.expected === Kind.znodes && payload[0] === Kind.snapshotEnd) this.expected = Kind.snapshotEnd;
    expectKind(reader, this.expected);
    switch (this.expected) {
      case Kind.snapshotHeader:
        this.model.restoreCounters(reader.long(), reader.bigLong());
        this.expected = Kind.sessions;
        return;
      case Kind.sessions:
        for (const session of reader.vector(() => decodeSession(reader))) this.model.sessions.add(session);
        this.expected = Kind.znodes;
        return;
      case Kind.znodes:
        this.takeZnodes(reader);
        return;
      default:
        this.end(reader.int());
    }
  }

  private takeZnodes(reader: JuteReader): void {
    for (; reader.remaining > 0; this.znodes++) {
      const { path, node } = decodeZnode(reader);
      this.model.tree.restore(path, node);
    }
  }

  private end(expected: number): void {
    if (expected !== this.znodes) {
      throw new MalformedPacketError(`it has ${this.znodes} znodes instead of ${expected}`);
    }
    this.isComplete = true;
  }
}
