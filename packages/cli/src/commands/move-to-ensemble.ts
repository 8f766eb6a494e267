import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  embeddedDataDir,
  formatZooKeeperServers,
  readTokenKey,
  stateDirCandidates,
  tokenKeyFile,
} from '@nodepool/core/config';
import {
  DATABASE_ID_PATH,
  LEASE_TOKENS_ROOT,
  NODEPOOL_ROOT,
  componentsPath,
  isNodepoolError,
} from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { StoredDatabase } from '@nodepool/zk-protocol/embedded';
import type { MoveNote, StoredZnode } from '@nodepool/zk-protocol/embedded';
import { defineCommand, flag } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { copyZnodes, verifyCopy } from '../move/copy-znodes.js';
import { MoveTarget } from '../move/move-target.js';
import { giveUpCopy } from '../move/undo-move.js';

/** `nodepool move-to-ensemble`. */
export const command = defineCommand({
  options: {
    undo: { type: 'boolean', default: false, describe: 'use the embedded database again' },
    yes: { type: 'boolean', default: false, describe: 'with --undo: do not ask' },
    force: {
      type: 'boolean',
      default: false,
      describe: 'with --undo: do not ask, even if services use the ensemble or it cannot be reached',
    },
  },
  parse: (values) => ({ undo: flag(values, 'undo'), yes: flag(values, 'yes'), force: flag(values, 'force') }),
  run: moveToEnsemble,
});

/** Arguments of `nodepool move-to-ensemble`. */
interface MoveArguments {
  readonly undo: boolean;
  /** With `undo`: do not ask. */
  readonly yes: boolean;
  /** With `undo`: do not ask, and ignore services that use the ensemble, or that it does not answer. */
  readonly force: boolean;
}

/**
 * `nodepool move-to-ensemble`: copies the database of the embedded server to the ensemble of the configuration, and marks it, so that
 * no service starts on it. Can be repeated after an interruption.
 */
async function moveToEnsemble(context: CliContext, args: MoveArguments): Promise<number> {
  const dataDir = await findDataDir(context);
  const to = args.undo ? '' : await targetOf(context);
  const database = await openDatabase(dataDir, context);
  try {
    if (args.undo) return await undo(context, { database, dataDir }, args);
    await move(context, { database, dataDir, to });
    return 0;
  } finally {
    await database.close();
  }
}

interface Place {
  readonly database: StoredDatabase;
  readonly dataDir: string;
}

interface Move extends Place {
  /** The ensemble, as a connection string. */
  readonly to: string;
}

async function move(context: CliContext, { database, dataDir, to }: Move): Promise<void> {
  const note = await database.moveNote;
  if (note !== undefined && note.to !== to) {
    throw new CliError(
      `${describe(dataDir, note)}, and the configuration names ${to}: name the same servers, or take that move back with --undo`,
    );
  }
  const all = database.znodes();
  const znodes = all.filter(({ path }) => path.startsWith(`${NODEPOOL_ROOT}/`));
  if (znodes.length === 0) throw new CliError(`${dataDir} holds no data of Nodepool: name another --state-dir`);
  reportBuilders(database);
  const { id } = note ?? { id: randomUUID() };
  await withZooKeeper(context, async (zk) => {
    const target = new MoveTarget(zk, id, to);
    if (note?.isDone !== true) {
      await copy(zk, target, znodes, () => database.setMoveNote({ id, to, isDone: false }));
      await database.setMoveNote({ id, to, isDone: true });
    }
    await target.forget();
  });
  if (note?.isDone === true) print(`The content of ${dataDir} was moved to ${to} already.`);
  else print(`Moved ${znodes.length} znodes from ${dataDir} to ${to}.`);
  reportForeignData(all);
  if (znodes.some(({ path }) => path.startsWith(`${LEASE_TOKENS_ROOT}/`)))
    await reportTokenKey(context, dirname(dataDir));
  inform('Now list these servers under zookeeper-servers for each launcher, builder and Zuul, and start them.');
}

async function copy(
  zk: ZooKeeper,
  target: MoveTarget,
  znodes: readonly StoredZnode[],
  markStarted: () => Promise<void>,
): Promise<void> {
  const progress = await target.progress();
  if (progress === 'complete') return;
  await markStarted();
  const last = znodes.find(({ path }) => path === DATABASE_ID_PATH);
  const others = znodes.filter((znode) => znode !== last);
  await target.begin();
  inform(`Copying ${znodes.length} znodes...`);
  await copyZnodes(zk, others);
  await verifyCopy(zk, others);
  await target.complete(last);
}

async function undo(context: CliContext, { database, dataDir }: Place, args: MoveArguments): Promise<number> {
  const note = await database.moveNote;
  if (note === undefined) throw new CliError(`the content of ${dataDir} was not moved: nothing to take back`);
  const databaseId = database
    .znodes()
    .find(({ path }) => path === DATABASE_ID_PATH)
    ?.data.toString();
  const configured = () => targetOf(context);
  const { yes, force } = args;
  if (!(await giveUpCopy(context, { note, dataDir, databaseId, configured, yes, force }))) return 1;
  await database.setMoveNote(undefined);
  print(`${dataDir} is used again. The copy stays at ${note.to}, in ${NODEPOOL_ROOT}.`);
  return 0;
}

function describe(dataDir: string, { to, isDone }: MoveNote): string {
  return isDone ? `The content of ${dataDir} was moved to ${to}` : `A move of ${dataDir} to ${to} was started`;
}

/** Names builders that may still run: nothing in the database proves whether they do. */
function reportBuilders(database: StoredDatabase): void {
  const root = `${componentsPath('builder')}/`;
  const builders = database.ephemerals().filter((path) => path.startsWith(root));
  if (builders.length === 0) return;
  const names = builders.map((path) => path.slice(root.length)).sort();
  inform(
    `Still registered when the server stopped: builder ${names.join(', ')}. If it runs, stop it before you start the ` +
      'services on the ensemble: another builder would take its builds for abandoned.',
  );
}

/** Names the key that has signed the tokens of the database, if the configuration lacks it. */
async function reportTokenKey(context: CliContext, stateDir: string): Promise<void> {
  const key = await readTokenKey(stateDir).catch(() => undefined);
  const configured = (await loadIfPresent(context))?.tokenKeys ?? [];
  if (key === undefined || configured.includes(key)) return;
  inform(
    `Tokens stay valid if each launcher has the key of this database: add the content of ${tokenKeyFile(stateDir)} ` +
      'to the list token-keys of the secure file.',
  );
}

/** Names the data of other programs. */
function reportForeignData(all: readonly StoredZnode[]): void {
  const roots = new Set(all.map(({ path }) => `/${path.split('/')[1] ?? ''}`));
  for (const root of ['/', '/zookeeper', NODEPOOL_ROOT]) roots.delete(root);
  if (roots.size > 0) inform(`Not copied, as other programs made it: ${[...roots].join(', ')}`);
}

async function targetOf(context: CliContext): Promise<string> {
  const servers = (await loadIfPresent(context))?.zookeeper.servers ?? [];
  if (servers.length > 0) return formatZooKeeperServers(servers);
  throw new CliError(
    `${context.options.configFile} names no zookeeper-servers: list the servers of the ensemble there, and repeat this command`,
  );
}

async function findDataDir({ options, env }: CliContext): Promise<string> {
  const directories = stateDirCandidates({ stateDir: options.stateDir, env });
  for (const dataDir of directories.map(embeddedDataDir)) {
    if (await isDirectory(dataDir)) return dataDir;
  }
  throw new CliError(
    `no embedded server has left its data in ${directories.join(', ')}: name the launcher's --state-dir`,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function openDatabase(dataDir: string, { logger }: CliContext): Promise<StoredDatabase> {
  try {
    return await StoredDatabase.open(dataDir, logger);
  } catch (error) {
    if (!isNodepoolError(error, 'ZK_EMBEDDED_LOCKED')) throw error;
    throw new CliError(`${dataDir} is in use: stop the launcher, and the builder, first. ${error.message}`, {
      cause: error,
    });
  }
}
