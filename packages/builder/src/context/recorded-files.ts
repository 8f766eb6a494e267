import { stat } from 'node:fs/promises';
import {
  buildPath,
  decodeBuild,
  encodeBuild,
  isZooKeeperError,
  NodepoolError,
  type BuildRecord,
  type JsonObject,
} from '@nodepool/zk-protocol';
import { FILES_KEY } from '@nodepool/core/service';
import { computeChecksums, readChecksums, type Checksums } from '../files/checksums.js';
import { imageFile } from '../files/image-files.js';
import { runTool } from '../tool/run-tool.js';
import { toolVariables } from '../tool/secrets.js';
import type { BuilderContext } from './builder-context.js';

/** What a build's record says about an image file. */
interface RecordedFile extends Checksums {
  readonly bytes: number;
}

/** Measures an image file. Checksums that the build tool has not written are computed. */
export async function measureFile(file: string, signal: AbortSignal): Promise<JsonObject> {
  const written = await readChecksums(file);
  const { md5, sha256 } =
    written.md5 !== undefined && written.sha256 !== undefined ? written : await computeChecksums(file, signal);
  return { bytes: (await stat(file)).size, md5: md5 ?? null, sha256: sha256 ?? null };
}

/** Checksums for an upload: those of the record; of the files beside the image if the record is of an earlier version. */
export async function expectedChecksums(build: BuildRecord, format: string, file: string): Promise<Checksums> {
  return recordedFile(build, format) ?? readChecksums(file);
}

/** An image file of a build. */
export interface FileOfBuild {
  readonly build: BuildRecord;
  readonly format: string;
  readonly file: string;
}

/** What the check of a file works with. */
type CheckContext = Pick<BuilderContext, 'env' | 'sandbox' | 'clock'>;

/**
 * Reads an image file and compares it with its build. Without checksums, only its structure is checked.
 * @throws NODEPOOL_IMAGE_FILE if it differs or cannot be read
 */
export async function checkFile(context: CheckContext, subject: FileOfBuild, signal: AbortSignal): Promise<void> {
  const { build, format, file } = subject;
  const recorded = recordedFile(build, format);
  const expected = recorded ?? (await readChecksums(file));
  const { size } = await stat(file).catch((error: Error) => {
    throw new NodepoolError('NODEPOOL_IMAGE_FILE', `"${file}" cannot be read: ${error.message}`, { cause: error });
  });
  if (recorded && recorded.bytes !== size)
    throw differs(build, file, `it has ${size} bytes, expected ${recorded.bytes}`);
  if (expected.md5 === undefined && expected.sha256 === undefined) return checkStructure(context, subject, signal);
  const found = await computeChecksums(file, signal);
  for (const kind of ['sha256', 'md5'] as const) {
    if (expected[kind] === undefined || expected[kind] === found[kind]) continue;
    throw differs(build, file, `its ${kind} is ${String(found[kind])}, expected ${expected[kind]}`);
  }
}

/** Formats whose files `qemu-img check` can check. */
const CHECKABLE = ['qcow2', 'vhdx', 'vmdk'];
/** Exit codes of `qemu-img check` for a file that it cannot read, and one with errors; leaked clusters (3) are harmless. */
const DAMAGED = [1, 2];
const LIMIT_MS = 600_000;

/** Finds a truncated file of a build of an earlier version, where `qemu-img` is installed. */
async function checkStructure(
  { env, sandbox, clock }: CheckContext,
  { build, format, file }: FileOfBuild,
  signal: AbortSignal,
): Promise<void> {
  if (!CHECKABLE.includes(format)) return;
  let said = '';
  const result = await runTool({
    ...{ command: ['qemu-img', 'check', '-q', '-f', format, file], env: toolVariables(env), sandbox, clock, signal },
    ...{ timeoutMs: LIMIT_MS, onLine: (line) => void (said = (said + line).slice(0, 200)) },
  });
  signal.throwIfAborted();
  if (result.ended !== 'exit' || !DAMAGED.includes(result.code)) return;
  throw differs(build, file, `"qemu-img check" refuses it: ${said.trim()}`);
}

/** Stores size and checksums of a file that was added to a build. Does nothing if the build is gone. */
export async function recordFile(
  { zk, clock, imagesDir }: Pick<BuilderContext, 'zk' | 'clock' | 'imagesDir'>,
  { image, id }: Pick<BuildRecord, 'image' | 'id'>,
  format: string,
  signal: AbortSignal,
): Promise<void> {
  const path = buildPath(image, id);
  const measured = await measureFile(imageFile(imagesDir, image, id, format), signal);
  for (;;) {
    try {
      const { data, stat: version } = await zk.getData(path);
      const stored = decodeBuild({ image, id }, data, version, clock.now());
      if (!stored) return;
      const files = { ...filesOf(stored), [format]: measured };
      await zk.setData(path, encodeBuild({ ...stored, raw: { ...stored.raw, [FILES_KEY]: files } }), version.version);
      return;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return;
      if (!isZooKeeperError(error, 'ZK_BAD_VERSION')) throw error;
    }
  }
}

function differs({ image }: BuildRecord, file: string, how: string): NodepoolError {
  const remedy = `nothing was sent; find out what changed it, then run "nodepool image-build ${image}"`;
  return new NodepoolError('NODEPOOL_IMAGE_FILE', `"${file}" differs from the build: ${how}; ${remedy}`);
}

function recordedFile(build: BuildRecord, format: string): RecordedFile | undefined {
  const file = filesOf(build)[format];
  if (!isObject(file)) return undefined;
  const { bytes, md5, sha256 } = file;
  return typeof bytes === 'number' ? { bytes, md5: textOf(md5), sha256: textOf(sha256) } : undefined;
}

function filesOf({ raw }: BuildRecord): JsonObject {
  const files = raw[FILES_KEY];
  return isObject(files) ? files : {};
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
