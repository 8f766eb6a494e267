import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../base/replace-file.js';
import type { ZooKeeper } from '../client/contract/types.js';

const FILE = 'database_id.txt';
/** The third line, which earlier versions do not read: `<version> <path>`. */
const WRITE = /^(?<version>\d+) (?<path>\/.+)$/;

/** What the builder does with builds in the directory that the database does not know: records them, or deletes them. */
export type DatabaseOrder = 'adopt' | 'forget';

/** Database to which a directory of image files belongs. */
export interface DatabaseMark {
  /** Id of the database. */
  readonly id: string;
  /** Order of an operator that the builder has not carried out yet. */
  readonly order: DatabaseOrder | undefined;
  /** The builder's last write to a znode of its own, by the version of that znode; missing in marks of earlier versions. */
  readonly lastWrite?: { readonly version: number; readonly path: string } | undefined;
}

/** Whether the database lacks the last write of the builder, as an older copy of it does. */
export async function isOlderCopy(
  zk: Pick<ZooKeeper, 'exists' | 'sync'>,
  { lastWrite }: Pick<DatabaseMark, 'lastWrite'>,
): Promise<boolean> {
  if (!lastWrite) return false;
  const lacksIt = async () => ((await zk.exists(lastWrite.path))?.version ?? -1) < lastWrite.version;
  if (!(await lacksIt())) return false;
  await zk.sync(lastWrite.path); // this server may only be behind the leader
  return lacksIt();
}

/** Reads the mark of a directory. @returns `undefined` if there is none; otherwise the operating system's error is thrown */
export async function readDatabaseMark(directory: string): Promise<DatabaseMark | undefined> {
  try {
    const [id = '', order, write = ''] = (await readFile(join(directory, FILE), 'utf8')).trim().split('\n');
    const { version, path } = WRITE.exec(write)?.groups ?? {};
    return {
      ...{ id, order: order === 'adopt' || order === 'forget' ? order : undefined },
      lastWrite: version === undefined || path === undefined ? undefined : { version: Number(version), path },
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the mark of a directory, so that readers never see a part of it. @throws the operating system's error */
export async function writeDatabaseMark(directory: string, { id, order, lastWrite }: DatabaseMark): Promise<void> {
  const write = lastWrite ? `${lastWrite.version} ${lastWrite.path}` : '';
  await replaceFile(join(directory, FILE), `${[id, order ?? '', write].join('\n').trimEnd()}\n`);
}
