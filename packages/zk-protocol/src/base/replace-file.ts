import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Replaces a file, so that readers never see a part of it. Does not follow a link in its place.
 * @throws the operating system's error
 */
export async function replaceFile(file: string, text: string, mode = 0o644): Promise<void> {
  const draft = `${file}.${process.pid}`;
  try {
    await rm(draft, { force: true }); // of a killed process with this id
    await writeFile(draft, text, { mode, flag: 'wx' });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}
