import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@nodepool/core';

const FILE = 'builder_id.txt';

/**
 * The builder's lasting id, kept beside its images; made at the first start. Its text is used as it is, also
 * when another program wrote it.
 * @throws ConfigError when the directory cannot be used
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

/** Written beside its place and linked there, so that no reader ever sees half of it. */
async function createBuilderId(file: string): Promise<string> {
  const id = randomUUID();
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, id, { mode: 0o644 });
  try {
    await rm(file, { force: true });
    await link(draft, file);
    return id;
  } finally {
    await rm(draft, { force: true });
  }
}
