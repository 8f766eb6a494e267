import { chmod, lstat, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Endings of the checksum files beside an image file. */
const CHECKSUMS = ['md5', 'sha256'];
/** `<image>-<build id>.<rest>`; build ids are 32 hexadecimal digits, or 10 digits in data of older versions. */
const FILE_NAME = /^(?<image>.+)-(?<id>[0-9a-f]{32}|\d{10})\.(?<rest>[^/]+)$/;

/** What the images directory holds of one build. Build ids of older versions repeat among images. */
export interface BuildFiles {
  readonly image: string;
  readonly buildId: string;
  /** Formats whose image file is there. */
  readonly formats: ReadonlySet<string>;
  /** All names in the directory that belong to the build, its manifest directory included. */
  readonly names: readonly string[];
}

/** Base of all names of a build; the key of its files. */
export const imageBase = (image: string, buildId: string): string => `${image}-${buildId}`;

/** Image file of one format. */
export const imageFile = (imagesDir: string, image: string, buildId: string, format: string): string =>
  join(imagesDir, `${imageBase(image, buildId)}.${format}`);

/**
 * Looks through the images directory. Names that are not of a build are left out.
 * @returns by {@link imageBase}
 * @throws the file system's error when the directory cannot be read
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

/** Removes the file of one format with its checksums. What is gone already is fine. */
export async function removeFormat(
  imagesDir: string,
  { image, buildId }: Pick<BuildFiles, 'image' | 'buildId'>,
  format: string,
): Promise<void> {
  const file = imageFile(imagesDir, image, buildId, format);
  await Promise.all([file, ...CHECKSUMS.map((kind) => `${file}.${kind}`)].map((path) => rm(path, { force: true })));
}

/** Removes everything of a build, manifest directory included. */
export async function removeBuildFiles(imagesDir: string, files: Pick<BuildFiles, 'names'>): Promise<void> {
  await Promise.all(files.names.map((name) => rm(join(imagesDir, name), { recursive: true, force: true })));
}

/** Takes away what the builder's mask denies, as build tools make files with the usual mask. */
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

/** Bytes that a file takes on disk: images have holes. */
export async function bytesOnDisk(path: string): Promise<number> {
  return (await stat(path)).blocks * 512;
}
