import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@nodepool/core';

const FILE = 'builder_id.txt';

/**
 * Reads the builder's permanent id from its images directory; the first start creates it.
 * An id that another program wrote is used unchanged.
 * @throws ConfigError if the directory is not usable
 */
export async function readBuilderId(imagesDir: string): Promise<string> {
  const file = join(imagesDir, FILE);
  try {
    const id = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    return id === '' ? await createBuilderId(file) : id;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(
      `images-dir "${imagesDir}" cannot be used: ${reason}; it must be a directory that the builder may write to`,
      [],
      { cause: error },
    );
  }
}

/** Writes a temporary file and links it into place, so that readers never see a partial id. */
async function createBuilderId(file: string): Promise<string> {
  const id = randomUUID();
  const draft = `${file}.${process.pid}`;
  try {
    await rm(draft, { force: true });
    await writeFile(draft, id, { mode: 0o644, flag: 'wx' });
    await rm(file, { force: true });
    await link(draft, file);
    return id;
  } finally {
    await rm(draft, { force: true });
  }
}
