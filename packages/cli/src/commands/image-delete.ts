import type { Options } from 'yargs';
import { decodeUpload, encodeUpload, uploadPath, withUpload } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { changeImageRecord } from '../images/change-image-record.js';

const required = (describe: string) =>
  ({ type: 'string', demandOption: true, requiresArg: true, describe }) as const satisfies Options;

/** `nodepool image-delete`. */
export const command = defineCommand({
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
  run: deleteUpload,
});

/** Where an upload is, as `image-list` shows it. */
interface UploadAddress {
  readonly image: string;
  readonly buildId: string;
  readonly provider: string;
  readonly uploadId: string;
}

/** `nodepool image-delete`: a builder removes the image from the cloud, and its record. */
async function deleteUpload(context: CliContext, upload: UploadAddress): Promise<void> {
  const { image, buildId, provider, uploadId } = upload;
  const missing = 'Image upload not found';
  let wasReady = false;
  const isChanged = await changeImageRecord(
    context,
    { path: uploadPath(image, buildId, provider, uploadId), missing },
    ({ data, stat }) => {
      const nowMs = context.clock.now();
      const record = decodeUpload({ image, buildId, provider, id: uploadId }, data, stat, nowMs);
      if (!record) return { stays: missing };
      if (record.state === 'uploading') return { stays: 'Cannot delete because image upload in progress' };
      wasReady = record.state === 'ready';
      return { body: encodeUpload(withUpload(record, { state: 'deleting' }, nowMs)) };
    },
  );
  if (isChanged && wasReady) inform(`nodepool: ${uploadedAgain(image, buildId)}`);
}

/** A deleted upload does not withdraw its build. */
const uploadedAgain = (image: string, buildId: string): string =>
  `if build ${buildId} is the newest of ${image}, its builder uploads it again at once; to have the build before it in service: ` +
  `nodepool image-rollback ${image}; to delete it everywhere: nodepool dib-image-delete ${image}-${buildId}`;
