import { isZooKeeperError, lastPart } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { inBatches } from '../connection/fetch-records.js';
import { readImportFile } from '../images/import-file.js';
import type { ImportedRecord } from '../images/import-file.js';

/** `nodepool import-image-data`. */
export const command = defineCommand({
  positionals: { path: { type: 'string', demandOption: true, describe: 'the file' } },
  parse: (values) => ({ file: text(values, 'path') ?? '' }),
  run: importImages,
});

/** A build is complete before it can be seen, so that no builder uploads it again. */
const ORDER = ['pause', 'upload', 'build'] as const;

/**
 * `nodepool import-image-data`: puts the records into ZooKeeper, over those that are there. Numbers of later uploads come
 * after those of the data. May be repeated.
 */
async function importImages(context: CliContext, { file }: { file: string }): Promise<void> {
  const records = await readImportFile(file);
  await withZooKeeper(context, async (zk) => {
    const known = new Set(records.map(({ path }) => path));
    for (const [directory, highest] of highestUploads(records)) await countUp(zk, directory, highest, known);
    for (const kind of ORDER) {
      await inBatches(
        records.filter((record) => record.kind === kind),
        (record) => store(zk, record),
      );
    }
  });
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** The highest number in each directory of uploads. */
function highestUploads(records: readonly ImportedRecord[]): Map<string, number> {
  const highest = new Map<string, number>();
  for (const { kind, path } of records) {
    if (kind !== 'upload') continue;
    const directory = parentOf(path);
    highest.set(directory, Math.max(highest.get(directory) ?? 0, Number(lastPart(path))));
  }
  return highest;
}

/** Uses up the numbers below the highest one, as the server counts the children a directory has had. */
async function countUp(zk: ZooKeeper, directory: string, highest: number, known: ReadonlySet<string>): Promise<void> {
  await zk.ensurePath(directory);
  for (let last = -1; last < highest - 1;) {
    const path = await zk.create(`${directory}/`, undefined, { sequential: true });
    last = Number(lastPart(path));
    if (!known.has(path)) await zk.delete(path);
  }
}

async function store(zk: ZooKeeper, { path, body }: ImportedRecord): Promise<void> {
  await zk.ensurePath(parentOf(path));
  try {
    await zk.create(path, body);
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    await zk.setData(path, body);
  }
}
