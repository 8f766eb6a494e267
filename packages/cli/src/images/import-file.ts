import { readFile } from 'node:fs/promises';
import { classifyPath, decodeBuild, decodeUpload, isNodepoolError } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** One record to put into ZooKeeper. */
export interface ImportedRecord {
  readonly path: string;
  readonly body: Buffer;
  readonly kind: 'pause' | 'build' | 'upload';
}

/** What a ZooKeeper server takes as one znode, by default. */
const LARGEST_BODY = 1_000_000;
const UPLOAD_ID = /^\d{10}$/;
/** Uploads of one build to one provider; a higher number is no number but damage, and would take hours to count up to. */
export const HIGHEST_UPLOAD = 100_000;

/**
 * Reads what `export-image-data` wrote. Everything is checked before anything is used.
 * @throws CliError naming the file, and the record that is wrong
 */
export async function readImportFile(file: string): Promise<ImportedRecord[]> {
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
  if (typeof body !== 'string') throw new CliError('its body is no text');
  const bytes = Buffer.from(body);
  if (bytes.length > LARGEST_BODY)
    throw new CliError(`its body has ${bytes.length} bytes, ${LARGEST_BODY} at the most`);
  switch (shape?.shape) {
    case 'pause':
      return { path, body: bytes, kind: 'pause' };
    case 'build':
      if (!decodeBuild({ image: shape.image, id: shape.buildId }, bytes, undefined, 0)) break;
      return { path, body: bytes, kind: 'build' };
    case 'upload': {
      const { image, buildId, provider, uploadId: id } = shape;
      if (!UPLOAD_ID.test(id) || Number(id) > HIGHEST_UPLOAD) throw new CliError(`"${id}" is no number of an upload`);
      if (!decodeUpload({ image, buildId, provider, id }, bytes, undefined, 0)) break;
      return { path, body: bytes, kind: 'upload' };
    }
    default:
      throw new CliError('this is the path of no pause flag, build or upload');
  }
  throw new CliError('its body is empty');
}
