import { NODEPOOL_ROOT, NodepoolError } from '@nodepool/zk-protocol';
import type { MoveNote } from '@nodepool/zk-protocol/embedded';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { isConfirmed } from '../terminal/confirm.js';
import { MoveTarget } from './move-target.js';

/** Options for giving up the copy of a move. */
export interface UndoWork {
  readonly note: MoveNote;
  readonly dataDir: string;
  /** Of the embedded database. */
  readonly databaseId: string | undefined;
  /** The ensemble of the configuration. @throws CliError */
  readonly configured: () => Promise<string>;
  readonly yes: boolean;
  readonly force: boolean;
}

/**
 * Deletes the database id from the copy, so that only one database has it.
 * @returns whether the embedded database may be used again
 * @throws {NodepoolError} services use the ensemble, or it cannot be reached
 */
export async function giveUpCopy(context: CliContext, work: UndoWork): Promise<boolean> {
  const { note, force } = work;
  if (!force) return giveUpReached(context, work);
  try {
    return await giveUpReached(context, work);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    inform(`The copy at ${note.to} was not changed: ${error.message}`);
    inform(
      `It has the same database id. No service may run on it, or start on it, from now on: stop them all, and delete ${NODEPOOL_ROOT} there. ` +
        'Otherwise each of the two databases deletes the machines of the other.',
    );
    return true;
  }
}

async function giveUpReached(context: CliContext, work: UndoWork): Promise<boolean> {
  const { note, databaseId, configured } = work;
  const to = await configured();
  if (to !== note.to) {
    throw new CliError(
      `cannot check whether services use ${note.to}: ${context.options.configFile} names ${to}. ` +
        'Name the configuration of the move with -c; or, once no service uses that ensemble, add --force',
    );
  }
  return withZooKeeper(context, async (zk) => {
    const target = new MoveTarget(zk, note.id, note.to);
    await checkUnused(target, work);
    if (!(await mayUndo(work))) return false;
    await checkUnused(target, work);
    await target.giveUp(databaseId);
    return true;
  });
}

async function checkUnused(target: MoveTarget, { note, force }: UndoWork): Promise<void> {
  const users = await target.users();
  if (users.length === 0) return;
  const who = `services use the ensemble ${note.to}: ${users.join(', ')}`;
  if (!force) {
    throw new CliError(
      `${who}. Nothing was changed. Stop them and repeat this command; a registration ends with the session, some seconds after a crash`,
    );
  }
  inform(`WARNING! ${who}. Stop them before a service uses the embedded database: they delete its machines.`);
}

async function mayUndo({ note, dataDir, yes, force }: UndoWork): Promise<boolean> {
  if (yes || force || !note.isDone) return true;
  print(`\nWARNING! Services that use ${note.to} must be stopped first.`);
  print('Instances and images that were made since the move are deleted once services use this database again.');
  if (!process.stdin.isTTY) {
    inform('Nothing was changed: there is no terminal to ask at. Add --yes to use the database again.');
    return false;
  }
  if (await isConfirmed(`Use ${dataDir} again?`)) return true;
  print('Aborting. Nothing was changed.');
  return false;
}
