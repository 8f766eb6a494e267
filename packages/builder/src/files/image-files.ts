import { chmod, lstat, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Endings of the checksum files beside an image file. */
const CHECKSUMS = ['md5', 'sha256'];
/** `<image>-<build id>.<rest>`; build ids are 32 hexadecimal digits, or 10 digits in data of older versions. */
const FILE_NAME = /^(?<image>.+)-(?<id>[0-9a-f]{32}|\d{10})\.(?<rest>[^/]+)$/;

/** Files of one build in the images directory. Build ids of older versions are not unique across images. */
export interface BuildFiles {
  readonly image: string;
  readonly buildId: string;
  /** Formats whose image file exists. */
  readonly formats: ReadonlySet<string>;
  /** All names in the directory that belong to the build, including its manifest directory. */
  readonly names: readonly string[];
}

/** Common prefix of all file names of a build, used as a key. */
export const imageBase = (image: string, buildId: string): string => `${image}-${buildId}`;

/** Path of the image file in one format. */
export const imageFile = (imagesDir: string, image: string, buildId: string, format: string): string =>
  join(imagesDir, `${imageBase(image, buildId)}.${format}`);

/**
 * Lists the files in the images directory by build, ignoring other names.
 * @returns builds by {@link imageBase}
 * @throws the file system error if the directory is not readable
 */
export async function listBuildFiles(imagesDir: string): Promise<Map<string, BuildFiles>> {
  const found = new Map<string, { image: string; buildId: string; formats: Set<string>; names: string[] }>();
  for (const entry of await readdir(imagesDir, { withFileTypes: true })) {
    const parts = FILE_NAME.exec(entry.name)?.groups;
    if (!parts?.['image'] || !parts['id'] || !parts['rest']) continue;
    const { image, id, rest } = parts as { image: string; id: string; rest: string };
    const base = imageBase(image, id);
    const files = found.get(base) ?? { image, buildId: id, formats: new Set<string>(), names: [] };
    files.names.push(entry.name);
    if (entry.isFile() && !rest.includes('.')) files.formats.add(rest);
    found.set(base, files);
  }
  return found;
}

/** Removes the file of one format with its checksums. Missing files are ignored. */
export async function removeFormat(
  imagesDir: string,
  { image, buildId }: Pick<BuildFiles, 'image' | 'buildId'>,
  format: string,
): Promise<void> {
  const file = imageFile(imagesDir, image, buildId, format);
  await Promise.all([file, ...CHECKSUMS.map((kind) => `${file}.${kind}`)].map((path) => rm(path, { force: true })));
}

/** Removes all files of a build, including its manifest directory. */
export async function removeBuildFiles(imagesDir: string, files: Pick<BuildFiles, 'names'>): Promise<void> {
  await Promise.all(files.names.map((name) => rm(join(imagesDir, name), { recursive: true, force: true })));
}

/** Applies the builder's umask to files that the build tool created with the default umask. */
export async function applyMask(
  imagesDir: string,
  { names }: Pick<BuildFiles, 'names'>,
  mask = process.umask(),
): Promise<void> {
  for (const name of names) {
    const path = join(imagesDir, name);
    const stats = await lstat(path);
    if (!stats.isSymbolicLink()) await chmod(path, stats.mode & 0o7777 & ~mask);
  }
}

/** Changes with the contents of a file; `undefined`: it cannot be looked at. */
export async function stampOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found && `${found.mtimeMs} ${found.size}`;
}

/** Disk space used by a file in bytes. Images are sparse, so this is less than the file size. */
export async function bytesOnDisk(path: string): Promise<number> {
  return (await stat(path)).blocks * 512;
}
