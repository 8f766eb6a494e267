import { defineCommand, flag, text } from '../command/command.js';

/** `nodepool erase`. */
export const eraseCommand = defineCommand({
  name: 'erase',
  usage: '<provider>',
  summary: 'erase what ZooKeeper holds about a provider; its instances and images stay in the cloud',
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  options: {
    force: { type: 'boolean', default: false, describe: 'do not ask, and erase nodes with instances as well' },
  },
  parse: (values) => ({ provider: text(values, 'provider') ?? '', force: flag(values, 'force') }),
  run: async (context, args) => (await import('../providers/erase-provider.js')).eraseProvider(context, args),
});
