import { defineCommand, NO_ARGUMENTS } from '../command/command.js';

/** `nodepool dib-image-list`. */
export const dibImageListCommand = defineCommand({
  name: 'dib-image-list',
  summary: 'list builds of images',
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: async (context) => (await import('../images/list-images.js')).listBuilds(context),
});
