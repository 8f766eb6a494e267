import { defineCommand, text } from '../command/command.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-pause`. */
export const imagePauseCommand = defineCommand({
  name: 'image-pause',
  usage: '<image>',
  summary: 'begin no build of an image',
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: async (context, args) => (await import('../images/pause-image.js')).pauseImage(context, args),
});
