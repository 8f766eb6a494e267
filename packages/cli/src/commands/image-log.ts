import { defineCommand, flag, text } from '../command/command.js';

/** `nodepool image-log`. */
export const imageLogCommand = defineCommand({
  name: 'image-log',
  usage: '<build>',
  summary: 'show the log of a build: of this machine, else from its builder',
  positionals: {
    build: { type: 'string', demandOption: true, describe: 'id of a build, or name of an image for its newest build' },
  },
  options: {
    follow: { type: 'boolean', alias: 'f', default: false, describe: 'until the build has ended' },
  },
  parse: (values) => ({ name: text(values, 'build') ?? '', follow: flag(values, 'follow') }),
  run: async (context, args) => (await import('../images/show-log.js')).showLog(context, args),
});
