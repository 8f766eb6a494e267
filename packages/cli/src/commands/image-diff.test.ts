import { expect, it } from 'vitest';
import { listenFor } from '../../test/program.js';
import { BUILD, useWorld } from '../../test/world.js';

const get = useWorld();
const OLD = '0d14c8a6227f468a8c6d7b5734de7a92';

const contents = (size: number, packages: Record<string, string> | null) => ({
  ...{ sizes: { qcow2: size }, packages, repositories: null },
});

/** Registers a builder that knows the contents of builds. */
async function registerBuilder(builds: Readonly<Record<string, unknown>>): Promise<void> {
  const answers = Object.entries(builds).map(([id, body]) => [`/image-contents?build=debian-12-${id}`, body]);
  await get().register('builder', { webUrl: await listenFor(Object.fromEntries(answers) as Record<string, unknown>) });
}

async function createBuilds(): Promise<void> {
  await get().createBuild({ builder: 'nb01' }, OLD, Date.now() - 3_600_000);
  await get().createBuild({ builder: 'nb01' });
}

const diff = (...argv: string[]) => get().call('image-diff', ...argv);

it('compares the two newest builds, or those that are named', async () => {
  await createBuilds();
  await registerBuilder({
    [OLD]: contents(100, { vim: '1', git: '2' }),
    [BUILD]: contents(150, { vim: '3', git: '2' }),
  });

  const newest = await diff('debian-12', '--json');
  const named = await diff('debian-12', `debian-12-${BUILD}`, OLD, '--json');

  expect(newest.stderr).toMatch(new RegExp(`debian-12: from build ${OLD} .* to build ${BUILD} `));
  const changes = JSON.parse(newest.stdout) as { name: string }[];
  expect(changes.map(({ name }) => name).sort()).toEqual(['qcow2', 'vim']);
  expect(named.stderr).toMatch(new RegExp(`from build ${BUILD} .* to build ${OLD} `));
});

it('reports a missing list of packages', async () => {
  await createBuilds();
  await registerBuilder({ [OLD]: contents(100, null), [BUILD]: contents(150, {}) });

  expect((await diff('debian-12')).stderr).toContain('packages are not compared: a build has no list of them');
});

it('reports that no builder has the contents of a build', async () => {
  await createBuilds();
  await registerBuilder({ [BUILD]: contents(150, {}) });

  const { status, stderr } = await diff('debian-12');

  expect(status).toBe(1);
  expect(stderr).toContain(`the contents of build ${OLD} of debian-12: it was made by nb01`);
});

it('lists existing builds for an unknown one', async () => {
  expect((await diff('debian-12')).stderr).toContain('There is no build of image debian-12');
  await get().createBuild();

  expect((await diff('debian-12')).stderr).toContain('Image debian-12 has one build that is ready');
  expect((await diff('debian-12', BUILD, '9'.repeat(100_000))).stderr).toContain(`it has ${BUILD}`);
  expect(await diff('debian-12', BUILD)).toMatchObject({ status: 2 });
});
