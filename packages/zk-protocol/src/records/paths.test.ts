import { describe, expect, it } from 'vitest';
import type { NodeId, RequestId } from './types.js';
import { classifyPath, imageBuildLockPath, nodeLockPath, requestCreatePath, requestLockPath } from './paths.js';
import { buildLockPath, parseUploadPath, STATS_ELECTION_PATH, uploadLockPath, uploadNumberLockPath } from './paths.js';
import { findForceUnlockTarget, findPredecessor, newLockEntryPrefix, sortContenders } from '../recipes/lock-entries.js';
import { loadVectors } from '../../test/vectors.js';

type Shapes = Record<'node' | 'node_lock' | 'request' | 'image' | 'pause' | 'build' | 'upload', string[] | null>;

describe('paths', () => {
  it.each(loadVectors<{ vectors: (Shapes & { path: string })[] }>('paths').vectors)(
    'are classified: $path',
    ({ path, ...expected }) => {
      const found = classifyPath(path);

      // Nodepool's request cache also takes lock directories for requests; ours does not.
      if (path.startsWith('/nodepool/requests-lock/')) expected.request = null;
      expect({
        node: found.shape === 'node' ? [found.id] : null,
        node_lock: found.shape === 'node-lock-entry' ? [found.id, found.entry] : null,
        request: found.shape === 'request' ? [found.id] : null,
        image: found.shape === 'image' ? [found.image] : null,
        pause: found.shape === 'pause' ? [found.image] : null,
        build: found.shape === 'build' ? [found.image, found.buildId] : null,
        upload: found.shape === 'upload' ? [found.image, found.buildId, found.provider, found.uploadId] : null,
      }).toEqual(expected);
    },
  );

  it('take an image id apart, and leave the name of a cloud image alone', () => {
    const upload = '/nodepool/images/img1/builds/b1/providers/cloud-a/images/0000000002';

    expect(parseUploadPath(upload)).toEqual({
      image: 'img1',
      buildId: 'b1',
      provider: 'cloud-a',
      uploadId: '0000000002',
    });
    expect(parseUploadPath('debian-12')).toBeUndefined();
  });

  it('pad the priority of a request to three digits', () => {
    expect(requestCreatePath(100)).toBe('/nodepool/requests/100-');
    expect(requestCreatePath(50)).toBe('/nodepool/requests/050-');
  });

  it('refuse names that would point somewhere else', () => {
    expect(() => imageBuildLockPath('a/b')).toThrow(/image name "a\/b"/);
    expect(() => imageBuildLockPath('')).toThrow(/must not be empty/);
  });
});

describe('lock directories', () => {
  const { paths, cases, create_prefix_regex } = loadVectors<{
    paths: { what: string; lock_root: string }[];
    create_prefix_regex: string;
    cases: {
      children: string[];
      contenders_in_order: string[];
      force_unlock_deletes: string | null;
      own?: string;
      predecessor?: string | null;
    }[];
  }>('locks');
  const build = '5c14c8a6227f468a8c6d7b5734de7a92';

  it.each([
    ['node', nodeLockPath('0000000042' as NodeId)],
    ['request', requestLockPath('200-0000001234' as RequestId)],
    ['image build', imageBuildLockPath('img1')],
    ['build id', buildLockPath('img1', build)],
    ['upload', uploadLockPath('img1', build, 'cloud-a')],
    ['upload number', uploadNumberLockPath('img1', build, 'cloud-a', '0000000002')],
    ['stats election', STATS_ELECTION_PATH],
  ])('are where everybody expects them: %s', (what, path) => {
    expect(path).toBe(paths.find((vector) => vector.what === what)?.lock_root);
  });

  it('get entries of the common form', () => {
    expect(newLockEntryPrefix()).toMatch(new RegExp(create_prefix_regex));
    expect(newLockEntryPrefix()).not.toBe(newLockEntryPrefix());
  });

  it.each(cases)('are read in the common order: $children', (vector) => {
    expect(sortContenders(vector.children)).toEqual(vector.contenders_in_order);
    expect(findForceUnlockTarget(vector.children) ?? null).toBe(vector.force_unlock_deletes);
    if (vector.own !== undefined) {
      expect(findPredecessor(vector.children, vector.own) ?? null).toBe(vector.predecessor);
    }
  });
});
