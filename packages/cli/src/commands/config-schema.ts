import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool config-schema`. */
export const configSchemaCommand = defineCommand({
  name: 'config-schema',
  summary: 'print a JSON schema of the configuration, for editors',
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../configuration/print-schema.js')).configSchema(context),
});
