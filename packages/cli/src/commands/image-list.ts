import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool image-list`. */
export const imageListCommand = defineCommand({
  name: 'image-list',
  summary: 'list images in the clouds',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../images/list-images.js')).listUploads(context),
});
