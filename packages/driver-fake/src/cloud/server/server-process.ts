import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isProcessRunning } from '@nodepool/core/config';

/** Name of the program, as it stands on the command line of every server. */
const PROGRAM_NAME = 'nodepool-fake-cloud';

/**
 * Whether a process of this id is the server of some cloud. One that has ended but not been reaped is none, nor is
 * another program that got the id of a server of long ago.
 */
export function isServerProcess(pid: number): boolean {
  return isProcessRunning(pid) && commandLineOf(pid).includes(PROGRAM_NAME);
}

function commandLineOf(pid: number): string {
  if (!existsSync('/proc/self/cmdline')) {
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It has ended meanwhile.
  }
}
