import { delay } from '@nodepool/zk-protocol';
import { print, inform } from './command/context.js';
import type { CliContext } from './command/context.js';
import { describeError } from './command/errors.js';
import { Interrupts } from './terminal/interrupts.js';

const CLEAR_SCREEN = '\u001b[H\u001b[2J';

/**
 * Runs a listing repeatedly, over one connection, until a signal. Errors after the first run are printed, and the next run follows.
 * @returns the exit status
 */
export async function watchCommand(
  context: CliContext,
  everyMs: number,
  run: (context: CliContext) => Promise<number | void>,
): Promise<number> {
  const kept: NonNullable<CliContext['kept']> = { zk: undefined };
  const interrupts = new Interrupts();
  try {
    for (let isFirst = true; !interrupts.signal.aborted; isFirst = false) {
      if (process.stdout.isTTY)
        print(`Every ${everyMs / 1000} s, ${new Date(context.clock.now()).toISOString()}`, CLEAR_SCREEN);
      try {
        await run({ ...context, kept });
      } catch (error) {
        if (isFirst) throw error;
        inform(`nodepool: ${describeError(error)}`);
      }
      await delay(context.clock, everyMs, interrupts.signal).catch(() => undefined); // a signal ends the loop
    }
    return 0;
  } finally {
    interrupts.dispose();
    await kept.zk?.close();
  }
}
