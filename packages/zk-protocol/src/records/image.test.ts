import { describe, expect, it } from 'vitest';
import { NOW_MS, parseBody, present, vectorsOf } from '../../test/vectors.js';
import { decodeBuild, decodePauseReason, decodeUpload, encodeBuild, encodeUpload } from './image.js';
import { classifyPath } from './paths.js';

describe('builds and uploads', () => {
  it.each(vectorsOf('builds'))('round-trips a build: %s', (_note, { path, raw, body, decoded }) => {
    const shape = classifyPath(path);
    if (shape.shape !== 'build') throw new Error(`${path} is no build`);

    const build = decodeBuild({ image: shape.image, id: shape.buildId }, Buffer.from(raw), undefined, NOW_MS);

    expect(parseBody(encodeBuild(present(build)))).toEqual(decoded ?? body);
  });

  it.each(vectorsOf('uploads'))('round-trips an upload: %s', (_note, { path, raw, body }) => {
    const shape = classifyPath(path);
    if (shape.shape !== 'upload') throw new Error(`${path} is no upload`);

    const upload = decodeUpload({ ...shape, id: shape.uploadId }, Buffer.from(raw), undefined, NOW_MS);

    expect(upload).toMatchObject({ image: 'img1', provider: 'cloud-a', id: '0000000002' });
    expect(parseBody(encodeUpload(present(upload)))).toEqual(body);
  });

  it.each([
    ['{"reason": "broken mirror"}', 'broken mirror'],
    ['{"reason": 5}', undefined],
    ['', undefined],
    ['null', undefined],
  ])('reads the reason of a pause from %j', (body, expected) => {
    expect(decodePauseReason(Buffer.from(body))).toBe(expected);
  });
});
