import { writeFile } from 'node:fs/promises';
import { buildPath, encodeBuild, imageBuildLockPath, withBuild, type BuildRecord } from '@nodepool/zk-protocol';
import { describe, expect, it, vi } from 'vitest';
import { logs, newGate, useBuilds, WAIT } from '../../test/support/builds.js';
import type { World } from '../../test/support/world.js';

const start = useBuilds();

describe('a build whose lock is lost', () => {
  /** Starts a build, takes the lock away as the end of a session does, does something, and lets the build end. */
  async function interrupted(meanwhile: (of: World, build: BuildRecord) => Promise<void>): Promise<World> {
    const gate = newGate();
    const of = await start({ WAIT_FOR: gate });
    await of.builder();
    const build = await vi.waitFor(() => {
      const found = of.lastBuild('debian');
      if (found?.state !== 'building') throw new Error('not building');
      return found;
    }, WAIT);
    const root = imageBuildLockPath('debian');
    await vi.waitFor(async () => expect(await logs(of)).toHaveLength(1), WAIT);
    for (const entry of await of.zk.getChildren(root)) await of.zk.delete(`${root}/${entry}`);
    await meanwhile(of, build);
    await vi.waitFor(async () => expect(await of.zk.getChildren(root)).toHaveLength(1), WAIT);
    await writeFile(gate, '');
    return of;
  }

  it('is registered again after another builder removed its record', async () => {
    const of = await interrupted((it, build) => it.zk.deleteRecursive(buildPath('debian', build.id)));

    await vi.waitFor(() => expect(of.states('debian')).toEqual({ builds: ['ready'], uploads: ['sky ready'] }), WAIT);
    expect(of.happened.filter((text) => text.startsWith('built'))).toEqual(['built debian 0']);
  });

  it('stays deleted when a person has deleted it meanwhile', async () => {
    let deleted = '';
    const of = await interrupted(async (it, build) => {
      deleted = build.id;
      const { stat } = await it.zk.getData(buildPath('debian', build.id));
      const body = encodeBuild(withBuild(build, { state: 'deleting' }, Date.now()));
      await it.zk.setData(buildPath('debian', build.id), body, stat.version);
    });

    await vi.waitFor(async () => expect(await of.zk.exists(buildPath('debian', deleted))).toBeUndefined(), WAIT);
    await vi.waitFor(() => expect(of.happened).toContain('built debian 0'), WAIT);
    await vi.waitFor(async () => expect((await of.files()).filter((name) => name.includes(deleted))).toEqual([]), WAIT);
    expect(of.happened).not.toContain('uploaded debian sky');
  });
});
