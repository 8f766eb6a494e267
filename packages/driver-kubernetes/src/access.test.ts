import { describe, expect, it } from 'vitest';
import { accessBodies } from './access.js';

const meta = { labels: { a: 'b' } };

describe('what a node may do in its namespace', () => {
  it('is to use its pod, and nothing more', () => {
    const { account, role, binding } = accessBodies('main-1', true, undefined, meta);

    expect(account).toMatchObject({ metadata: { ...meta, name: 'zuul-worker' } });
    expect(role).toMatchObject({ metadata: { name: 'zuul-restricted' } });
    expect(JSON.stringify(role?.['rules'])).not.toMatch(/secrets|configmaps|delete/);
    expect(binding).toMatchObject({
      roleRef: { kind: 'Role', name: 'zuul-restricted' },
      subjects: [{ kind: 'ServiceAccount', name: 'zuul-worker', namespace: 'main-1' }],
    });
  });

  it('is to run what a job needs in a namespace', () => {
    const { role } = accessBodies('main-1', false, undefined, meta);

    expect(role).toMatchObject({ metadata: { name: 'zuul' } });
    expect(JSON.stringify(role?.['rules'])).toMatch(/pods.*configmaps.*deployments.*jobs/);
    expect(JSON.stringify(role?.['rules'])).not.toMatch(/rolebindings|\*/);
  });

  it('is what an existing ClusterRole allows', () => {
    const { role, binding } = accessBodies('main-1', false, 'edit', meta);

    expect(role).toBeUndefined();
    expect(binding).toMatchObject({ roleRef: { kind: 'ClusterRole', name: 'edit' } });
  });
});
