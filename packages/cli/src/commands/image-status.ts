import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool image-status`. */
export const imageStatusCommand = defineCommand({
  name: 'image-status',
  summary: 'list which images are paused, and which builds are asked for',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../images/list-images.js')).listImageStatus(context),
});
