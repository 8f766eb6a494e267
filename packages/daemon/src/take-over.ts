import { readFile } from 'node:fs/promises';
import { isProcessRunning } from '@nodepool/core/config';
import type { Logger } from '@nodepool/core';
import { delay, NodepoolError, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';

const LOOK_MS = 20;
/** A process that hands over has this long to end. */
const END_MS = 15_000;
/** ZooKeeper has this long to answer before the running process is disturbed. */
const CONNECT_MS = 30_000;

/** What a take-over needs. */
export interface TakeOverOptions {
  /** Name of the program, which both processes run. */
  readonly name: string;
  readonly zk: Pick<ZooKeeper, 'whenConnected'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Ends another process of the same program, whose place this one takes, by the signal QUIT: it stops at once, and leaves its
 * work as it is. Call it when all else is ready. The other process is not disturbed unless this one has reached ZooKeeper.
 * @param pid - of the other process
 * @throws NODEPOOL_TAKE_OVER when it is another program, may not be ended, or does not end
 */
export async function takeOver(pid: number, { name, zk, clock, logger }: TakeOverOptions): Promise<void> {
  await checkProgram(pid, name);
  const late = new AbortController();
  const cancel = clock.setTimer(CONNECT_MS, () => {
    late.abort(refused(pid, `ZooKeeper has not answered this process within ${CONNECT_MS / 1_000} s`));
  });
  await zk.whenConnected(late.signal).finally(cancel);
  logger.info('Takes over from another process', { pid });
  try {
    process.kill(pid, 'SIGQUIT');
  } catch (error) {
    throw refused(pid, `it cannot be told to end (${error instanceof Error ? error.message : String(error)})`);
  }
  const deadlineMs = clock.now() + END_MS;
  while (isProcessRunning(pid)) {
    if (clock.now() >= deadlineMs) throw refused(pid, `it was told to end and still runs after ${END_MS / 1_000} s`);
    await delay(clock, LOOK_MS);
  }
}

/** A wrong number must not end another program. */
async function checkProgram(pid: number, name: string): Promise<void> {
  if (!isProcessRunning(pid)) throw refused(pid, 'no such process runs');
  const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  if (words === undefined) throw refused(pid, 'its command line in /proc cannot be read');
  if (!words.includes(name)) throw refused(pid, `its command line does not name ${name}`);
}

function refused(pid: number, why: string): NodepoolError {
  return new NodepoolError('NODEPOOL_TAKE_OVER', `process ${pid} is not taken over: ${why}`);
}
