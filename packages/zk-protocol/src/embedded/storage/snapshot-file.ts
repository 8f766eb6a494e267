import type { ServerModel } from '../model/server-model.js';
import { JuteReader, MalformedPacketError } from '../wire/jute-reader.js';
import { JuteWriter } from '../wire/jute-writer.js';
import { decodeSession, decodeZnode, expectKind, Kind } from './codec.js';
import type { FileSystem } from './file-system.js';
import { readRecord, RECORD_HEADER_BYTES, writeRecord } from './record.js';
import type { SnapshotSource } from './snapshot-source.js';

/** First bytes of a snapshot file. */
const MAGIC = Buffer.from('NPZKSNP1');

const PART_BYTES = 256 * 1024;

/** Writes a whole snapshot and makes it durable. Other work of the process continues between the parts. */
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
 * Fills an empty model from a snapshot file's bytes.
 * @throws {MalformedPacketError} the file is damaged or unfinished
 */
export function readSnapshot(file: Buffer, model: ServerModel): void {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) throw new MalformedPacketError('it is no snapshot');
  let at = MAGIC.length;
  const next = (kind: number): JuteReader => {
    const record = readRecord(file, at);
    if (record === undefined) throw new MalformedPacketError(`it is damaged at byte ${at}`);
    at = record.end;
    const reader = new JuteReader(record.payload);
    expectKind(reader, kind);
    return reader;
  };

  const header = next(Kind.snapshotHeader);
  model.restoreCounters(header.long(), header.bigLong());
  for (const session of sessionsOf(next(Kind.sessions))) model.sessions.add(session);
  let count = 0;
  while (kindAt(file, at) === Kind.znodes) {
    const reader = next(Kind.znodes);
    for (; reader.remaining > 0; count++) {
      const { path, node } = decodeZnode(reader);
      model.tree.restore(path, node);
    }
  }
  const expected = next(Kind.snapshotEnd).int();
  if (expected !== count) throw new MalformedPacketError(`it has ${count} znodes instead of ${expected}`);
  model.tree.linkRestored();
}

function sessionsOf(reader: JuteReader): ReturnType<typeof decodeSession>[] {
  return reader.vector(() => decodeSession(reader));
}

function kindAt(file: Buffer, at: number): number | undefined {
  return file[at + RECORD_HEADER_BYTES];
}
