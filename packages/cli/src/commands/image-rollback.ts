import { defineCommand, text } from '../command/command.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-rollback`, ours. */
export const imageRollbackCommand = defineCommand({
  name: 'image-rollback',
  usage: '<image>',
  summary: 'take the newest build of an image out of service: the previous one serves, and builds are paused',
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: async (context, args) => (await import('../images/rollback-image.js')).rollbackImage(context, args),
});
