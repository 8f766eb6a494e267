import { defineCommand, text } from '../command/command.js';

/** `nodepool info`. */
export const infoCommand = defineCommand({
  name: 'info',
  usage: '<provider>',
  summary: 'show what ZooKeeper holds about a provider',
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  reads: true,
  parse: (values) => ({ provider: text(values, 'provider') ?? '' }),
  run: async (context, args) => (await import('../providers/provider-info.js')).info(context, args),
});
