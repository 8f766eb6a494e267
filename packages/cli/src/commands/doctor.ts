import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool doctor`. */
export const doctorCommand = defineCommand({
  name: 'doctor',
  summary: 'say what is wrong now, each with the command that fixes it; status 1 when something does not work',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../doctor/examine.js')).examine(context),
});
