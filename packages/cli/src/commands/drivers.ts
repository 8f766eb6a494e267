import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool drivers`. */
export const driversCommand = defineCommand({
  name: 'drivers',
  summary: 'list installed drivers',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../configuration/list-drivers.js')).drivers(context),
});
