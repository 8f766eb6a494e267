import { chmod, writeFile } from 'node:fs/promises';
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
});
