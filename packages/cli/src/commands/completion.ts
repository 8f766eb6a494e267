import { defineCommand, text } from '../command/command.js';
import type { Command } from '../command/command.js';
import { print } from '../command/context.js';
import { SHELL_NAMES } from './shared-options.js';
import type { ShellName } from './shared-options.js';

/** `nodepool completion`. @param commands - what is completed */
export function completionCommand(commands: () => readonly Command<unknown>[]): Command<{ shell: ShellName }> {
  return defineCommand({
    name: 'completion',
    usage: '<shell>',
    summary: 'print a script that completes commands and options: source <(nodepool completion bash)',
    positionals: {
      shell: { type: 'string', demandOption: true, choices: SHELL_NAMES, describe: SHELL_NAMES.join(', ') },
    },
    parse: (values) => ({ shell: text(values, 'shell') as ShellName }),
    async run(_context, { shell }) {
      const { completionScript } = await import('../help/completion.js');
      print(completionScript(shell, commands()).trimEnd());
    },
  });
}
