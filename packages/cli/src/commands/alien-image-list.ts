import { defineCommand, text } from '../command/command.js';

/** `nodepool alien-image-list`. */
export const alienImageListCommand = defineCommand({
  name: 'alien-image-list',
  usage: '[provider]',
  summary: 'list images in the clouds that a builder made and no record knows as ready',
  positionals: { provider: { type: 'string', describe: 'name of the provider; default: all of them' } },
  reads: true,
  parse: (values) => ({ provider: text(values, 'provider') }),
  run: async (context, args) => (await import('../images/list-alien-images.js')).listAlienImages(context, args),
});
