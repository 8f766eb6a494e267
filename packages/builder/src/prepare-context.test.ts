import { chmod, chown, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { debian } from '../test/support/builds.js';
import { useWorld } from '../test/support/use-world.js';

const startWorld = useWorld();

describe('a builder that cannot work', () => {
  it('names the directory that it cannot use', async () => {
    const of = await startWorld({ diskimages: debian({}) });
    await writeFile(join(of.dir, 'file'), '');

    await expect(of.builder({ imagesDir: join(of.dir, 'file') })).rejects.toThrow(
      /images-dir ".*\/file" cannot be used/,
    );
    await expect(of.builder({ imagesDir: join(of.dir, 'nowhere') })).rejects.toThrow(/images-dir ".*" cannot be used/);
    await expect(of.builder({ buildLogDir: join(of.dir, 'file', 'logs') })).rejects.toThrow(
      /build-log-dir ".*\/file\/logs" cannot be made: .*; choose a directory that the builder may write to/,
    );
    await chmod(of.dir, 0o755);
  });

  it('as root rejects an images-dir that another user can replace, and touches nothing in it', async () => {
    if (process.geteuid?.() !== 0) return; // Only root can give directories away.
    const of = await startWorld({ diskimages: debian({}) });
    const state = join(of.dir, 'state');
    const imagesDir = join(state, 'images');
    await mkdir(imagesDir, { recursive: true });
    await symlink('/etc/nowhere', join(imagesDir, 'debian.qcow2.md5'));
    await chown(state, 4711, 4711);

    const failure = expect.stringMatching(
      /state" belongs to another user \(uid 4711\).*"chown root:root .*\/state", or name it in trusted-directories; else set images-dir: move it/,
    ) as string;
    await expect(of.builder({ imagesDir })).rejects.toMatchObject({
      code: 'NODEPOOL_UNSAFE_DIRECTORY',
      message: failure,
    });
    expect(await readdir(imagesDir)).toEqual(['debian.qcow2.md5']);

    await of.reload({ diskimages: debian({}), top: `trusted-directories: [${state}]` });
    expect((await of.builder({ imagesDir })).notReady).toEqual([]);
  });

  it('suggests for a directory that every user may write to only what helps', async () => {
    const of = await startWorld({ diskimages: debian({}) });
    const imagesDir = join(of.dir, 'open');
    await mkdir(imagesDir);
    await chmod(imagesDir, 0o777);

    const failure = await of.builder({ imagesDir }).catch((error: unknown) => String(error));

    expect(failure).toContain(`"chmod o-w ${imagesDir}"; else set images-dir: move it to a directory`);
    expect(failure).not.toContain('trusted-directories');
  });

  it('warns of an elements-dir that does not exist, at the start and after a reload', async () => {
    const of = await startWorld({ diskimages: debian({}) });
    const [there, gone, lost] = ['there', 'gone', 'lost'].map((name) => join(of.dir, name));
    await mkdir(there ?? '');
    await of.reload({ diskimages: debian({}), top: `elements-dir: ${there}:${gone}` });
    const builder = await of.builder();
    const warnings = () => of.said.filter((line) => line.includes('elements-dir: there is no directory'));

    expect(warnings()).toEqual([expect.stringContaining(String(gone))]);

    await of.reload({ diskimages: debian({}), top: `elements-dir: ${lost}` });
    await builder.reconfigure(of.config);
    expect(warnings()).toEqual([expect.anything(), expect.stringContaining(String(lost))]);
  });

  it('as root warns of elements and programs that another user can replace, at the start and after a reload', async () => {
    if (process.geteuid?.() !== 0) return; // Only root can give directories away.
    const of = await startWorld({ diskimages: debian({}) });
    const [elements, tools] = [join(of.dir, 'elements'), join(of.dir, 'tools')];
    await Promise.all([mkdir(elements), mkdir(tools)]);
    await chown(elements, 4711, 4711);
    await of.reload({ diskimages: debian({}), top: `elements-dir: ${elements}` });
    const builder = await of.builder();
    const warnings = () => of.said.filter((line) => line.includes('Other users can change') && line.includes(of.dir));

    expect(warnings()).toEqual([
      expect.stringMatching(
        /as root: .*elements" belongs to another user .*, or name it in trusted-directories; or move/,
      ),
    ]);

    await chown(tools, 4711, 4711);
    await of.reload({
      diskimages: debian({}).replace(/dib-cmd: .*/, `dib-cmd: '"${tools}/build image" -x'`),
      top: `elements-dir: ${elements}\ntrusted-directories: [${elements}]`,
    });
    await builder.reconfigure(of.config);
    expect(warnings()).toEqual([expect.anything(), expect.stringMatching(/tools" belongs to another user/)]);
  });
});
