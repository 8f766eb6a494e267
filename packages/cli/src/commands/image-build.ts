import { defineCommand, flag, text } from '../command/command.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-build`. */
export const imageBuildCommand = defineCommand({
  name: 'image-build',
  usage: '<image>',
  summary: 'ask for a build of an image now',
  positionals: { image: IMAGE },
  options: {
    follow: { type: 'boolean', default: false, describe: 'show the build; status 1 when it fails' },
  },
  parse: (values) => ({ image: text(values, 'image') ?? '', follow: flag(values, 'follow') }),
  run: async (context, args) => (await import('../images/request-build.js')).requestBuild(context, args),
});
