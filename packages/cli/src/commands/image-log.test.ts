import { hostname } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

beforeAll(() => get().write('nodepool.yaml', `build-log-dir: ${get().directory}\n`));

describe('nodepool image-log', () => {
  it('suggests where the log may be', async () => {
    await get().createBuild({ builder: 'nb07' }, '0000000003');

    expect(await call('image-log', 'debian-12-0000000003')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('built by nb07') as string,
    });
    expect((await call('image-log', 'nothing')).stderr).toContain('no builder has a build of it');
  });

  /** Registers a builder of this machine that answers every question for a log with this part. */
  async function impostor(part: Buffer): Promise<void> {
    await get().register('builder', { webUrl: await listen((_, response) => response.end(part)) });
    await get().createBuild({ builder: hostname() }, '0000000004');
  }

  it('ends when the same is answered wherever the log is read from', async () => {
    await impostor(Buffer.from('nineteen bytes long'));

    expect(await call('image-log', 'debian-12-0000000004')).toMatchObject({
      status: 0,
      stdout: 'nineteen bytes long',
    });
  });

  it('ends with a log that has no end', async () => {
    await impostor(Buffer.alloc(262_144, 'x'));

    expect(await call('image-log', 'debian-12-0000000004')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('has more than 268435456 bytes') as string,
    });
  }, 60_000);
});
