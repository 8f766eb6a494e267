import { setImmediate } from 'node:timers/promises';
import { isOutputLost } from './output-errors.js';

/** Resolves once the stream is flushed, or its reader is gone. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

/**
 * Flushes the output and exits with the status that was set, or with 1 if output was lost. Exits explicitly, because a driver
 * may have left timers or sockets open, which keep a process running.
 */
export async function endProcess(): Promise<never> {
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  await setImmediate(); // write errors are reported one turn later
  if (isOutputLost()) process.exitCode ||= 1;
  process.exit();
}
