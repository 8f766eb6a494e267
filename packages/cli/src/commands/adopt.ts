import { defineCommand, flag, text } from '../command/command.js';

/** `nodepool adopt`. */
export const adoptCommand = defineCommand({
  name: 'adopt',
  usage: '<provider>',
  summary: 'list what carries the name of a provider without a record here, and hand it over to the clean-up',
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  options: {
    yes: { type: 'boolean', default: false, describe: 'do not ask' },
    force: { type: 'boolean', default: false, describe: 'also take what carries the id of another database' },
  },
  parse: (values) => ({
    provider: text(values, 'provider') ?? '',
    yes: flag(values, 'yes'),
    force: flag(values, 'force'),
  }),
  run: async (context, args) => (await import('../providers/adopt-aliens.js')).adoptAliens(context, args),
});
