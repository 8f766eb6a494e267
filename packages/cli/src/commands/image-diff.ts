import { defineCommand, text } from '../command/command.js';
import { UsageError } from '../command/usage-error.js';
import { IMAGE } from './shared-options.js';

const BUILD = 'id of a build; default: the previous and the newest one that are ready';

/** `nodepool image-diff`, ours. */
export const imageDiffCommand = defineCommand({
  name: 'image-diff',
  usage: '<image> [older] [newer]',
  summary: 'show what differs between two builds of an image: sizes, packages, repositories',
  positionals: {
    image: IMAGE,
    older: { type: 'string', describe: BUILD },
    newer: { type: 'string', describe: BUILD },
  },
  reads: true,
  parse: (values) => {
    const [older, newer] = [text(values, 'older'), text(values, 'newer')];
    if ((older === undefined) !== (newer === undefined)) throw new UsageError('name both builds, or none');
    const builds = older === undefined || newer === undefined ? undefined : ([older, newer] as const);
    return { image: text(values, 'image') ?? '', builds };
  },
  run: async (context, args) => (await import('../images/diff-images.js')).diffImages(context, args),
});
