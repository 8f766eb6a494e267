import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool labels`. */
export const labelsCommand = defineCommand({
  name: 'labels',
  summary: 'list what can be asked for, with numbers',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../requests/list-labels.js')).labels(context),
});
