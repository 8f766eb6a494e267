import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, type JsonObject } from '@nodepool/zk-protocol';

/** Peak disk usage of a build on the file systems of its images and of its temporary files, bytes. */
export interface SpaceNeed {
  readonly imagesBytes: number;
  readonly tmpBytes: number;
}

const FILE = 'build_space.json';
/** The next build may need a bit more than the last one. */
const MARGIN = 1.1;
const MEBIBYTE = 1024 * 1024;
/** Minimum for any image. */
const LEAST_BYTES = 64 * MEBIBYTE;

/** Bytes that can be written to the file system of a directory. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Records the disk usage of the last build of each image beside the images, to avoid starting a build that cannot fit. */
export class SpaceBook {
  readonly #imagesDir: string;
  readonly #tmpDir: string;

  constructor(imagesDir: string, tmpDir: string) {
    this.#imagesDir = imagesDir;
    this.#tmpDir = tmpDir;
  }

  /** Why the next build of the image would not fit; `undefined` if it would. */
  async shortage(image: string): Promise<string | undefined> {
    const need = (await this.#read())[image];
    for (const [what, directory] of [
      ['imagesBytes', this.#imagesDir],
      ['tmpBytes', this.#tmpDir],
    ] as const) {
      const last = typeof need === 'object' && need !== null && !Array.isArray(need) ? need[what] : undefined;
      const wanted = Math.max(LEAST_BYTES, typeof last === 'number' ? last * MARGIN : 0);
      const free = await freeBytes(directory);
      if (free < wanted) {
        const has = Math.floor(free / MEBIBYTE);
        const needs = Math.ceil(wanted / MEBIBYTE);
        return `"${directory}" has ${has} MiB free, and the build needs ${needs} MiB: ${needs - has} MiB are missing`;
      }
    }
    return undefined;
  }

  /** Records the disk usage of a successful build. */
  async learn(image: string, need: SpaceNeed): Promise<void> {
    const all: JsonObject = { ...(await this.#read()), [image]: { ...need } };
    await replaceFile(join(this.#imagesDir, FILE), JSON.stringify(all));
  }

  async #read(): Promise<JsonObject> {
    try {
      return JSON.parse(await readFile(join(this.#imagesDir, FILE), 'utf8')) as JsonObject;
    } catch {
      return {}; // Missing or damaged: the next good build writes it again.
    }
  }
}
