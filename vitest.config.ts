import { defineConfig } from 'vitest/config';

/**
 * How long a test or a hook may take at the most, ms. They compute and start programs, on machines that do other things as
 * well: what takes so long hangs.
 */
const LIMITS = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 50_000 } } };

/** One project per package; workspace packages resolve to their sources, so tests need no build. */
const project = (name: string, dir: string, extra: object = {}) => ({
  resolve: { conditions: ['@nodepool/source', 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: ['@nodepool/source', 'node', 'import', 'default'] } },
  test: {
    name,
    root: dir,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['**/dist/**', '**/node_modules/**'],
    ...LIMITS,
    ...extra,
  },
});

export default defineConfig({
  test: {
    projects: [
      project('zk-protocol', 'packages/zk-protocol'),
      project('core', 'packages/core'),
      project('history', 'packages/history'),
      project('driver-static', 'packages/driver-static'),
      project('driver-fake', 'packages/driver-fake'),
      project('driver-openstack', 'packages/driver-openstack'),
      project('driver-gce', 'packages/driver-gce'),
      project('driver-metastatic', 'packages/driver-metastatic'),
      project('simple-driver', 'examples/simple-driver', { include: ['test/**/*.test.js'] }),
      project('create-driver', 'packages/create-driver'),
      project('daemon', 'packages/daemon'),
      project('launcher', 'packages/launcher'),
      project('builder', 'packages/builder', { exclude: ['**/dist/**', '**/node_modules/**', 'test/image/**'] }),
      project('e2e-image', 'packages/builder', { include: ['test/image/**/*.test.ts'] }),
      project('cli', 'packages/cli'),
      project('repository', 'scripts', { include: ['*.test.ts'] }),
      project('fake-compute', 'tools/fake-compute'),
      project('openstack', 'tools/openstack'),
      project('test-servers', 'tools/test-servers'),
      project('quickstart', 'quickstart', { testTimeout: 300_000 }),
      project('simulator', 'simulator', { testTimeout: 300_000 }),
      project('e2e', 'e2e', {
        testTimeout: 300_000,
        exclude: ['**/dist/**', '**/node_modules/**', 'src/openstack/**'],
      }),
      project('e2e-openstack', 'e2e', {
        include: ['src/openstack/**/*.test.ts'],
      }),
    ],
  },
});
