import { UsageError, parseCommand, USAGE } from './arguments.js';
import { control } from './control.js';
import { serve } from './serve.js';
import type { Terminal } from './terminal.js';

/** Runs `nodepool-fake-cloud`. Resolves to the exit status. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const command = parseCommand(args);
    if (command.name === 'help') {
      terminal.print(USAGE);
      return 0;
    }
    if (command.name === 'serve') return await serve(command, terminal);
    return await control(command, terminal);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    terminal.complain(error instanceof UsageError ? `${message}\nTry 'nodepool-fake-cloud --help'.` : message);
    return error instanceof UsageError ? 2 : 1;
  }
}
