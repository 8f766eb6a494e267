import type { Options } from 'yargs';
import { defineCommand, text } from '../command/command.js';

const required = (describe: string) =>
  ({ type: 'string', demandOption: true, requiresArg: true, describe }) as const satisfies Options;

/** `nodepool image-delete`. */
export const imageDeleteCommand = defineCommand({
  name: 'image-delete',
  summary: 'delete an image from a cloud',
  options: {
    provider: required('name of the provider'),
    image: required('name of the image'),
    'build-id': required('id of the build'),
    'upload-id': required('id of the upload, all as image-list shows them'),
  },
  parse: (values) => ({
    provider: text(values, 'provider') ?? '',
    image: text(values, 'image') ?? '',
    buildId: text(values, 'build-id') ?? '',
    uploadId: text(values, 'upload-id') ?? '',
  }),
  run: async (context, args) => (await import('../images/mark-deleting.js')).deleteUpload(context, args),
});
