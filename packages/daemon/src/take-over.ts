import { readFile, readlink, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename } from 'node:path';
import { isProcessRunning } from '@nodepool/core/config';
import type { Logger } from '@nodepool/core';
import { delay, NodepoolError, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';
import { parseCommandLine, type CommandLine, type CommonArguments } from './arguments.js';

const LOOK_MS = 20;
/** A process that hands over has this long to end. */
const END_MS = 15_000;
/** ZooKeeper has this long to answer before the running process is disturbed. */
const CONNECT_MS = 30_000;

/** What a take-over needs. */
export interface TakeOverOptions<Args extends CommonArguments> {
  /** Command line of the program, which both processes run. */
  readonly commandLine: CommandLine<Args>;
  /** Of this process. */
  readonly configFile: string;
  readonly zk: Pick<ZooKeeper, 'whenConnected'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** User of this process. */
  readonly uid?: number | undefined;
}

/**
 * Ends another process of the same program, whose place this one takes, by the signal QUIT: it stops at once, and leaves its
 * work as it is. Call it when all else is ready. The other process is not disturbed unless this one has reached ZooKeeper.
 * @param pid - of the other process
 * @returns call it when this process serves: until then its end is reported as a failure, as no process serves
 * @throws NODEPOOL_TAKE_OVER when it is another program, has another configuration or user, may not be ended, or does not end
 */
export async function takeOver<Args extends CommonArguments>(
  pid: number,
  options: TakeOverOptions<Args>,
): Promise<() => void> {
  const { zk, clock, logger, uid = process.getuid?.() } = options;
  if (!isProcessRunning(pid)) throw refused(pid, 'no such process runs');
  await checkUser(pid, uid);
  await checkConfiguration(pid, options);
  const late = new AbortController();
  const cancel = clock.setTimer(CONNECT_MS, () => {
    late.abort(refused(pid, `ZooKeeper has not answered this process within ${CONNECT_MS / 1_000} s`));
  });
  await zk.whenConnected(late.signal).finally(cancel);
  try {
    process.kill(pid, 'SIGQUIT');
  } catch (error) {
    throw refused(pid, `it cannot be told to end (${error instanceof Error ? error.message : String(error)})`);
  }
  logger.info('Takes over from another process, which was told to end', { pid });
  const serves = failOnExit(pid, options.commandLine.name);
  const deadlineMs = clock.now() + END_MS;
  while (isProcessRunning(pid)) {
    if (clock.now() >= deadlineMs) {
      serves();
      throw refused(pid, `it was told to end and still runs after ${END_MS / 1_000} s`);
    }
    await delay(clock, LOOK_MS);
  }
  return serves;
}

/** Whatever ends this process now, such as Ctrl-C, leaves no process in the place of the other one. @returns cancels it */
function failOnExit(pid: number, name: string): () => void {
  const onExit = () => {
    process.stderr.write(
      `${name}: process ${pid} was told to end, and this one ends before it serves: start it again\n`,
    );
    process.exitCode = 1;
  };
  process.once('exit', onExit);
  return () => void process.off('exit', onExit);
}

/** Root may end any process, and would then write files that the service's user cannot use. */
async function checkUser(pid: number, uid: number | undefined): Promise<void> {
  const owner = await stat(`/proc/${pid}`).catch(() => undefined);
  if (owner === undefined) throw refused(pid, '/proc does not show it; it may belong to another user');
  if (owner.uid !== uid)
    throw refused(pid, `it belongs to another user (id ${owner.uid}, here ${uid}); start this one as that user`);
}

/**
 * A wrong number must end neither another program nor the launcher of another configuration, whose web port this process would
 * not get free.
 */
async function checkConfiguration<Args extends CommonArguments>(
  pid: number,
  { commandLine, configFile }: TakeOverOptions<Args>,
): Promise<void> {
  const { name } = commandLine;
  const words = await wordsAfterScript(pid, name);
  if (words === undefined) throw refused(pid, `it does not run ${name}`);
  const context = { home: homedir(), cwd: await readlink(`/proc/${pid}/cwd`), version: '' };
  const args = await parseCommandLine(commandLine, words, context).catch(() => undefined);
  if (args === undefined || 'print' in args) throw refused(pid, `its options are not those of a running ${name}`);
  const [its, own] = await Promise.all([args.configFile, configFile].map((file) => realpath(file).catch(() => file)));
  if (its !== own)
    throw refused(pid, `its configuration is ${args.configFile}, and that of this process ${configFile}`);
}

/** The command line after the script; `undefined`: it is not a script of this name that Node runs. */
async function wordsAfterScript(pid: number, name: string): Promise<string[] | undefined> {
  try {
    const [program, text] = await Promise.all([readlink(`/proc/${pid}/exe`), readFile(`/proc/${pid}/cmdline`, 'utf8')]);
    // an upgrade may have removed the file, or put it elsewhere
    if (basename(program.replace(/ \(deleted\)$/, '')) !== basename(process.execPath)) return undefined;
    const words = text.split('\0').slice(1, -1);
    const script = words.findIndex((word) => !word.startsWith('-'));
    return basename(words[script] ?? '', '.js') === name ? words.slice(script + 1) : undefined;
  } catch (error) {
    throw refused(pid, `its command line cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
}

function refused(pid: number, why: string): NodepoolError {
  return new NodepoolError('NODEPOOL_TAKE_OVER', `process ${pid} is not taken over: ${why}`);
}
