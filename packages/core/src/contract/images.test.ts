import { newBuild, newUpload, type ImageEntry } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { uploadEvidence } from './images.js';

const UPLOAD = { image: 'debian', buildId: 'f'.repeat(32), provider: 'sky', id: '0000000001' };
const ENTRY: ImageEntry = {
  ...{ name: 'debian', paused: false, buildRequestedMs: undefined },
  builds: new Map([[UPLOAD.buildId, newBuild({ image: 'debian', id: UPLOAD.buildId }, { state: 'ready' }, 0)]]),
  uploads: new Map([['path', newUpload(UPLOAD, { state: 'ready', externalId: 'image-1' }, 0)]]),
};

describe('the records of uploads', () => {
  it('account for an image by its upload in the same provider, or by its external id', () => {
    const { hasUpload, hasImage } = uploadEvidence({ ready: true, images: new Map([['debian', ENTRY]]) });

    expect([undefined, 'sky', 'sea'].map((provider) => hasUpload(UPLOAD.buildId, UPLOAD.id, provider))).toEqual([
      ...[true, true],
      false, // the first upload to another provider has the same id
    ]);
    expect(hasUpload(UPLOAD.buildId, '0000000002')).toBe(false);
    expect([hasImage('sky', 'image-1'), hasImage('sea', 'image-1'), hasImage('sky', 'image-2')]).toEqual([
      ...[true, false, false],
    ]);
  });
});
