import { readFile } from 'node:fs/promises';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** In `/proc/PID/stat`, counted from the end of the name, which may hold anything. */
const START_TIME = 19;

/**
 * What tells a process from a later one with the same id: this boot of the machine, and when the process was started,
 * in ticks of a clock that is never set. `undefined` where the system does not tell (no Linux), or it does not run.
 */
export async function processIdentity(pid: number): Promise<string | undefined> {
  try {
    const [boot, stat] = await Promise.all([readFile(BOOT_ID, 'utf8'), readFile(`/proc/${pid}/stat`, 'utf8')]);
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_TIME];
    return started === undefined ? undefined : `${boot.trim()} ${started}`;
  } catch {
    return undefined; // Without it a running process of this id is taken for the one that is meant.
  }
}
