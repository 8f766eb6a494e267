import { defineCommand, text } from '../command/command.js';

/** `nodepool export-image-data`. */
export const exportImageDataCommand = defineCommand({
  name: 'export-image-data',
  usage: '<path>',
  summary: 'write what ZooKeeper holds about images to a file',
  positionals: { path: { type: 'string', demandOption: true, describe: 'the file; one that exists is replaced' } },
  parse: (values) => ({ file: text(values, 'path') ?? '' }),
  run: async (context, args) => (await import('../images/export-images.js')).exportImages(context, args),
});
