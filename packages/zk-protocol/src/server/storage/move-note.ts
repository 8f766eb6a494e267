import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedServerError } from './server-error.js';

/** Marks a data directory whose content was moved to an ensemble; no server uses it. */
export interface MoveNote {
  /** Random id of the move, also stored at its target. */
  readonly id: string;
  /** Connection string of the ensemble. */
  readonly to: string;
  /** False while the copy may be incomplete. */
  readonly isDone: boolean;
}

function notePath(dataDir: string): string {
  return join(dataDir, 'moved.json');
}

/** The note in a data directory; `undefined` if its content was not moved. */
export async function readMoveNote(dataDir: string): Promise<MoveNote | undefined> {
  let text: string;
  try {
    text = await readFile(notePath(dataDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return JSON.parse(text) as MoveNote;
}

/** Writes or removes the note of a data directory, durably. */
export async function writeMoveNote(dataDir: string, note: MoveNote | undefined): Promise<void> {
  const path = notePath(dataDir);
  if (note === undefined) await rm(path, { force: true });
  else {
    const file = await open(`${path}.new`, 'w', 0o644);
    try {
      await file.writeFile(`${JSON.stringify(note)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  }
  const directory = await open(dataDir, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** @throws {EmbeddedServerError} `ZK_EMBEDDED_MOVED` */
export async function refuseMoved(dataDir: string): Promise<void> {
  const note = await readMoveNote(dataDir);
  if (note === undefined) return;
  const { to, isDone } = note;
  const what = isDone ? `its content was moved to ${to}` : `a move of its content to ${to} has not been finished`;
  throw new EmbeddedServerError('ZK_EMBEDDED_MOVED', `embedded ZooKeeper: cannot use ${dataDir}: ${what}`, {
    path: dataDir,
  });
}
