import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../base/replace-file.js';

const FILE = 'database_id.txt';

/** What the builder does with builds in the directory that the database does not know: records them, or deletes them. */
export type DatabaseOrder = 'adopt' | 'forget';

/** Database to which a directory of image files belongs. */
export interface DatabaseMark {
  /** Id of the database. */
  readonly id: string;
  /** Order of an operator that the builder has not carried out yet. */
  readonly order: DatabaseOrder | undefined;
}

/** Reads the mark of a directory. @returns `undefined` if there is none; otherwise the operating system's error is thrown */
export async function readDatabaseMark(directory: string): Promise<DatabaseMark | undefined> {
  try {
    const [id = '', order] = (await readFile(join(directory, FILE), 'utf8')).trim().split('\n');
    return { id, order: order === 'adopt' || order === 'forget' ? order : undefined };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the mark of a directory, so that readers never see a part of it. @throws the operating system's error */
export async function writeDatabaseMark(directory: string, { id, order }: DatabaseMark): Promise<void> {
  await replaceFile(join(directory, FILE), order === undefined ? `${id}\n` : `${id}\n${order}\n`);
}
