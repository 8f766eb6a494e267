import { describe, expect, it } from 'vitest';
import { TreeLayout } from './tree-layout.js';

const nodes = new TreeLayout([{ path: '/nodes', idPrefix: '' }], true);
const requests = new TreeLayout([{ path: '/requests', idPrefix: '', lockRoot: '/requests-lock' }], true);
const components = new TreeLayout(
  ['launcher', 'pool'].map((kind) => ({ path: `/components/${kind}`, idPrefix: `${kind}/` })),
  false,
);

describe('a tree layout', () => {
  it.each([
    ['/nodes/1', { kind: 'record', id: '1' }],
    ['/nodes/1/lock', { kind: 'lock', id: '1' }],
    ['/nodes/1/lock/x__lock__0', { kind: 'lock-entry', id: '1', entry: 'x__lock__0' }],
    ['/nodes', undefined],
    ['/nodes/', undefined],
    ['/nodes/lock', undefined],
    ['/nodes/1/other', undefined],
    ['/nodes/1/lock-not', undefined],
    ['/nodes/1/lock/x/y', undefined],
    ['/nodes-of-others/1', undefined],
  ])('classifies %s', (path, expected) => {
    const found = nodes.classify(path);

    expect(found).toEqual(expected && { ...expected, path });
  });

  it.each([
    ['/requests/1', { kind: 'record', id: '1' }],
    ['/requests-lock/1', { kind: 'lock', id: '1' }],
    ['/requests-lock/1/x', { kind: 'lock-entry', id: '1', entry: 'x' }],
    ['/requests/1/lock', undefined],
    ['/requests-lock/1/x/y', undefined],
  ])('classifies %s with a separate tree of locks', (path, expected) => {
    expect(requests.classify(path)).toEqual(expected && { ...expected, path });
  });

  it('maps ids of several directories to paths and back', () => {
    const directory = components.directoryOf('pool/p1');
    if (directory === undefined) throw new Error('no directory of pools');

    expect(components.recordPath(directory, 'pool/p1')).toBe('/components/pool/p1');
    expect(components.classify('/components/pool/p1')).toMatchObject({ kind: 'record', id: 'pool/p1' });
    expect(components.classify('/components/pool/p1/lock')).toBeUndefined();
    expect(components.directoryOf('builder/b1')).toBeUndefined();
  });

  it.each([
    [nodes, '/nodes/', true],
    [nodes, '/nodes/1/lock', true],
    [nodes, '/nodes', false],
    [nodes, '/nodes-of-others/1', false],
    [requests, '/requests-lock/1', true],
    [components, '/components/builder/b', false],
  ])('knows whether a path concerns the cache (%#: %o %s)', (layout, path, expected) => {
    expect(layout.contains(path)).toBe(expected);
  });

  it('puts the lock directory below the record or in the separate tree', () => {
    expect(nodes.lockPath({ path: '/nodes', idPrefix: '' }, '1')).toBe('/nodes/1/lock');
    expect(requests.lockPath({ path: '/requests', idPrefix: '', lockRoot: '/requests-lock' }, '1')).toBe(
      '/requests-lock/1',
    );
  });
});
