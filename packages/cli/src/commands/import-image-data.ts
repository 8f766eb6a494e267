import { defineCommand, text } from '../command/command.js';

/** `nodepool import-image-data`. */
export const importImageDataCommand = defineCommand({
  name: 'import-image-data',
  usage: '<path>',
  summary: 'put what export-image-data wrote into ZooKeeper, while no builder runs',
  positionals: { path: { type: 'string', demandOption: true, describe: 'the file' } },
  parse: (values) => ({ file: text(values, 'path') ?? '' }),
  run: async (context, args) => (await import('../images/import-images.js')).importImages(context, args),
});
