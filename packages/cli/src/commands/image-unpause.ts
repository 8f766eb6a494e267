import { defineCommand, text } from '../command/command.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-unpause`. */
export const imageUnpauseCommand = defineCommand({
  name: 'image-unpause',
  usage: '<image>',
  summary: 'build an image again',
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: async (context, args) => (await import('../images/pause-image.js')).unpauseImage(context, args),
});
