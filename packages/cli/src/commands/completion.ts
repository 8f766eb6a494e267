import { defineCommand, text } from '../command/command.js';
import type { Command, CommandModule } from '../command/command.js';
import { print } from '../command/context.js';
import { completionScript } from '../help/completion.js';
import type { Shell } from '../help/completion.js';

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

/** `nodepool completion`. @param loadCommands - what is completed */
export function completionCommand(loadCommands: () => Promise<Command[]>): CommandModule<Shell> {
  return defineCommand({
    positionals: { shell: { type: 'string', demandOption: true, choices: SHELLS, describe: SHELLS.join(', ') } },
    parse: (values) => text(values, 'shell') as Shell,
    async run(_context, shell) {
      print(completionScript(shell, await loadCommands()).trimEnd());
    },
  });
}
