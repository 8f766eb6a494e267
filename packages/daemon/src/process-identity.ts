import { readFile } from 'node:fs/promises';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** Index in `/proc/PID/stat`, counted from the end of the process name, which may contain spaces. */
const START_TIME = 19;

/**
 * Distinguishes a process from a later one with the same id, by the boot id and the start time in ticks of a monotonic clock.
 * `undefined` if the process is not running, or on systems other than Linux.
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
