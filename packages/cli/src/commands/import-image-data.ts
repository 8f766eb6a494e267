import { readFile } from 'node:fs/promises';
import {
  classifyPath,
  decodeBuild,
  decodeUpload,
  isNodepoolError,
  isZooKeeperError,
  lastPart,
} from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { inBatches } from '../connection/fetch-records.js';

/** `nodepool import-image-data`. */
export const command = defineCommand({
  positionals: { path: { type: 'string', demandOption: true, describe: 'the file' } },
  parse: (values) => ({ file: text(values, 'path') ?? '' }),
  run: importImages,
});

/** Uploads before builds, so that no builder uploads a build again. */
const ORDER = ['pause', 'upload', 'build'] as const;

/**
 * `nodepool import-image-data`: stores the records in ZooKeeper, over existing ones. Later uploads get higher numbers. Idempotent.
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

/** One record to put into ZooKeeper. */
interface ImportedRecord {
  readonly path: string;
  readonly body: Buffer;
  readonly kind: 'pause' | 'build' | 'upload';
}

/** Default size limit of a znode in ZooKeeper. */
const LARGEST_BODY = 1_000_000;
const UPLOAD_ID = /^\d{10}$/;
/** Highest accepted number of an upload; a higher one is damage, and would take hours to count up to. */
const HIGHEST_UPLOAD = 100_000;

/**
 * Reads what `export-image-data` wrote. Everything is checked before anything is used.
 * @throws CliError naming the file, and the record that is wrong
 */
async function readImportFile(file: string): Promise<ImportedRecord[]> {
  const data = await readJson(file);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new CliError(`${file} holds no image data: it must be a JSON object of paths and bodies`);
  }
  return Object.entries(data).map(([path, body]) => {
    try {
      return toRecord(path, body);
    } catch (error) {
      if (!isNodepoolError(error)) throw error;
      throw new CliError(`${file} is damaged, nothing was imported: ${path}: ${error.message}`, { cause: error });
    }
  });
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`Cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${file} holds no image data: ${(error as Error).message}`, { cause: error });
  }
}

function toRecord(path: string, body: unknown): ImportedRecord {
  const shape = path.split('/').some((part) => part === '.' || part === '..') ? undefined : classifyPath(path);
  if (typeof body !== 'string') throw new CliError('its body is not a string');
  const bytes = Buffer.from(body);
  if (bytes.length > LARGEST_BODY)
    throw new CliError(`its body has ${bytes.length} bytes, the limit is ${LARGEST_BODY}`);
  switch (shape?.shape) {
    case 'pause':
      return { path, body: bytes, kind: 'pause' };
    case 'build':
      if (!decodeBuild({ image: shape.image, id: shape.buildId }, bytes, undefined, 0)) break;
      return { path, body: bytes, kind: 'build' };
    case 'upload': {
      const { image, buildId, provider, uploadId: id } = shape;
      if (!UPLOAD_ID.test(id) || Number(id) > HIGHEST_UPLOAD)
        throw new CliError(`"${id}" is not the number of an upload`);
      if (!decodeUpload({ image, buildId, provider, id }, bytes, undefined, 0)) break;
      return { path, body: bytes, kind: 'upload' };
    }
    default:
      throw new CliError('the path is not that of a pause flag, build or upload');
  }
  throw new CliError('its body is empty');
}
