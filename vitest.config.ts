import { defineConfig } from 'vitest/config';

/**
 * One project per package; workspace packages resolve to their sources, so tests need no build. The timeout is there to end a test that
 * hangs: none waits that long, but a busy machine of two cores may take ten times what a quiet one takes.
 */
const project = (name: string, dir: string, extra: object = {}) => ({
  resolve: { conditions: ['@nodepool/source', 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: ['@nodepool/source', 'node', 'import', 'default'] } },
  test: {
    name,
    root: dir,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/dist/**', '**/node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    ...extra,
  },
});

export default defineConfig({
  test: {
    projects: [
      project('zk-protocol', 'packages/zk-protocol'),
      project('core', 'packages/core'),
      project('driver-static', 'packages/driver-static'),
      project('driver-fake', 'packages/driver-fake'),
      project('driver-openstack', 'packages/driver-openstack'),
      project('driver-gce', 'packages/driver-gce'),
      project('driver-metastatic', 'packages/driver-metastatic'),
      project('simple-driver', 'examples/simple-driver', { include: ['test/**/*.test.js'] }),
      project('create-driver', 'packages/create-driver'),
      project('daemon', 'packages/daemon'),
      project('launcher', 'packages/launcher'),
      project('builder', 'packages/builder'),
      project('cli', 'packages/cli'),
      project('repository', 'scripts', { include: ['*.test.ts'] }),
      project('fake-compute', 'tools/fake-compute'),
      project('test-servers', 'tools/test-servers', { testTimeout: 60_000, hookTimeout: 60_000 }),
      project('quickstart', 'quickstart', { testTimeout: 60_000 }),
      project('simulator', 'simulator', { testTimeout: 120_000 }),
      project('e2e', 'e2e', {
        testTimeout: 60_000,
        hookTimeout: 120_000,
        exclude: ['**/dist/**', '**/node_modules/**', 'src/openstack/**'],
      }),
      project('e2e-openstack', 'e2e', {
        testTimeout: 60_000,
        hookTimeout: 120_000,
        include: ['src/openstack/**/*.test.ts'],
      }),
    ],
  },
});
