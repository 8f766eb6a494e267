import { defineCommand, text } from '../command/command.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-promote`, ours. */
export const imagePromoteCommand = defineCommand({
  name: 'image-promote',
  usage: '<image>',
  summary: 'end the trial of the newest build of an image: all launches get it from now on',
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: async (context, args) => (await import('../images/promote-image.js')).promoteImage(context, args),
});
