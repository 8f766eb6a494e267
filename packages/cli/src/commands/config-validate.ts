import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool config-validate`. */
export const configValidateCommand = defineCommand({
  name: 'config-validate',
  summary: 'check the configuration',
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../configuration/validate.js')).configValidate(context),
});
