import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * How long a test or a hook may take, ms. They compute and start programs, on machines that do other things as
 * well: what takes so long hangs.
 */
const LIMITS = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 50_000 } } };

/** Tests of seconds or more, such as those that start many servers: `npm run test:slow`. */
const SLOW = '**/*.slow.test.ts';
/** Which tests run: `quick`, `slow`, or all of them. `scripts/test.mjs` says. */
const KIND = process.env['NODEPOOL_TESTS'];
const NEVER = [
  '**/dist/**',
  '**/node_modules/**',
  ...(KIND === 'quick' ? [SLOW] : KIND === 'slow' ? ['**/!(*.slow).test.{ts,js}'] : []),
];

/**
 * Files of one project share a process and what it has imported: importing core again for each file took more than half of the CPU.
 * For packages whose modules keep no state; those that start programs or handle signals keep a process for each file.
 */
const SHARED = { isolate: false };

/** Files that take minutes, the longest first. They begin first, so that none of them runs alone at the end. */
const LONG = ['release', 'advice', 'lease-clients', 'foreign-database', 'conditions'].map(
  (name) => `/${name}.slow.test.ts`,
);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      LONG.findIndex((end) => moduleId.endsWith(end)) + 1 || LONG.length + 1;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** One project per package; workspace packages resolve to their sources, so tests need no build. */
const project = (name: string, dir: string, extra: object = {}) => ({
  resolve: { conditions: ['@nodepool/source', 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: ['@nodepool/source', 'node', 'import', 'default'] } },
  test: {
    name,
    root: dir,
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: NEVER,
    ...LIMITS,
    ...extra,
  },
});

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      project('zk-protocol', 'packages/zk-protocol', SHARED),
      project('core', 'packages/core', SHARED),
      project('history', 'packages/history', SHARED),
      project('driver-static', 'packages/driver-static', SHARED),
      project('driver-fake', 'packages/driver-fake', SHARED),
      project('driver-openstack', 'packages/driver-openstack', SHARED),
      project('driver-gce', 'packages/driver-gce', SHARED),
      project('driver-incus', 'packages/driver-incus', SHARED),
      project('driver-kubernetes', 'packages/driver-kubernetes', { exclude: [...NEVER, 'test/real/**'] }),
      project('driver-openshiftpods', 'packages/driver-openshiftpods', SHARED),
      project('driver-openshift', 'packages/driver-openshift', SHARED),
      project('e2e-kubernetes', 'packages/driver-kubernetes', {
        include: ['test/real/**/*.test.ts'],
        fileParallelism: false,
        globalSetup: [fileURLToPath(new URL('packages/driver-kubernetes/test/real/build.ts', import.meta.url))],
      }),
      project('driver-metastatic', 'packages/driver-metastatic', SHARED),
      project('simple-driver', 'examples/simple-driver', { include: ['test/**/*.test.js'] }),
      project('create-driver', 'packages/create-driver'),
      project('daemon', 'packages/daemon', { include: ['src/**/*.test.ts', 'page/**/*.test.ts'] }),
      project('launcher', 'packages/launcher'),
      project('builder', 'packages/builder', { exclude: [...NEVER, 'test/image/**'] }),
      project('e2e-image', 'packages/builder', { include: ['test/image/**/*.test.ts'] }),
      project('client', 'packages/client'),
      project('cli', 'packages/cli'),
      project('repository', 'scripts', { include: ['*.test.ts'] }),
      project('fake-compute', 'tools/fake-compute'),
      project('openstack', 'tools/openstack'),
      project('incus', 'tools/incus'),
      project('kubernetes', 'tools/kubernetes'),
      project('test-servers', 'tools/test-servers'),
      project('quickstart', 'quickstart', { testTimeout: 300_000 }),
      project('simulator', 'simulator', { testTimeout: 300_000 }),
      project('e2e', 'e2e', {
        testTimeout: 300_000,
        exclude: [...NEVER, 'src/openstack/**', 'src/incus/**'],
      }),
      project('e2e-incus', 'e2e', {
        include: ['src/incus/**/*.test.ts'],
        fileParallelism: false,
      }),
      project('e2e-openstack', 'e2e', {
        include: ['src/openstack/**/*.test.ts'],
      }),
    ],
  },
});
