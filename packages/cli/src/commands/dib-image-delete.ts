import { defineCommand, text } from '../command/command.js';

/** `nodepool dib-image-delete`. */
export const dibImageDeleteCommand = defineCommand({
  name: 'dib-image-delete',
  usage: '<id>',
  summary: 'delete a build of an image, and what was uploaded of it',
  positionals: { id: { type: 'string', demandOption: true, describe: 'id of the build, as dib-image-list shows it' } },
  parse: (values) => ({ id: text(values, 'id') ?? '' }),
  run: async (context, args) => (await import('../images/mark-deleting.js')).deleteBuild(context, args.id),
});
