import { setImmediate } from 'node:timers/promises';
import { isOutputLost } from './output-errors.js';

/** Resolves when what was written has left the process, or has nowhere to go any more. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

/**
 * Ends the process with the exit status that was set, once all output has been read or its reader is gone; output that
 * was lost is an error. A driver
 * that was loaded for a command may have left timers or sockets open, which would keep the process running.
 */
export async function endProcess(): Promise<never> {
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  await setImmediate(); // what could not be written is known a turn later
  if (isOutputLost()) process.exitCode ||= 1;
  process.exit();
}
