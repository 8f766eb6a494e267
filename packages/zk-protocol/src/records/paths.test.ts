import { describe, expect, it } from 'vitest';
import type { NodeId, RequestId } from './types.js';
import { classifyPath, imageBuildLockPath, nodeLockPath, requestCreatePath, requestLockPath } from './paths.js';
import { buildLockPath, STATS_ELECTION_PATH, uploadLockPath, uploadNumberLockPath } from './paths.js';
import { loadVectors } from '../../test/vectors.js';

type Shapes = Record<'node' | 'node_lock' | 'request' | 'image' | 'pause' | 'build' | 'upload', string[] | null>;

describe('paths', () => {
  it.each(loadVectors<{ vectors: (Shapes & { path: string })[] }>('paths').vectors)(
    'are classified: $path',
    ({ path, ...expected }) => {
      const found = classifyPath(path);

      // Nodepool's request cache reads lock directories as requests; ours does not.
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

  it('have a request priority of three digits', () => {
    expect(requestCreatePath(100)).toBe('/nodepool/requests/100-');
    expect(requestCreatePath(50)).toBe('/nodepool/requests/050-');
  });

  it('reject names that would lead to another path', () => {
    expect(() => imageBuildLockPath('a/b')).toThrow(/image name "a\/b"/);
    expect(() => imageBuildLockPath('')).toThrow(/must not be empty/);
  });
});

describe('lock directories', () => {
  const { paths } = loadVectors<{ paths: { what: string; lock_root: string }[] }>('locks');
  const build = '5c14c8a6227f468a8c6d7b5734de7a92';

  it.each([
    ['node', nodeLockPath('0000000042' as NodeId)],
    ['request', requestLockPath('200-0000001234' as RequestId)],
    ['image build', imageBuildLockPath('img1')],
    ['build id', buildLockPath('img1', build)],
    ['upload', uploadLockPath('img1', build, 'cloud-a')],
    ['upload number', uploadNumberLockPath('img1', build, 'cloud-a', '0000000002')],
    ['stats election', STATS_ELECTION_PATH],
  ])('have the paths of Nodepool: %s', (what, path) => {
    expect(path).toBe(paths.find((vector) => vector.what === what)?.lock_root);
  });
});
