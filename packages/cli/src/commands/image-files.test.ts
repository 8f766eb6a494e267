import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { ensureDatabaseId, readDatabaseMark, writeDatabaseMark } from '@nodepool/zk-protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PROGRAM } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const OTHER = 'f'.repeat(32);

/** Writes the configuration of a builder whose files belong to another database. @returns its images directory */
async function builderOf(name: string): Promise<string> {
  const directory = get().file(name);
  await mkdir(directory);
  await get().write(`${name}.yaml`, `images-dir: ${directory}\nlabels:\n  - name: small\n`);
  await writeDatabaseMark(directory, { id: OTHER, order: undefined });
  return directory;
}

/** Answers the question with Enter. @returns the exit status */
async function decline(...argv: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ['pipe', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end('\n');
  await once(child, 'close');
  return child.exitCode;
}

describe('nodepool image-files', () => {
  it.each(['adopt', 'forget'] as const)('leaves the order to %s beside the files, whole', async (order) => {
    const directory = await builderOf(order);
    const id = await ensureDatabaseId(get().zk);

    const answer = await get().nodepool(
      `${order}.yaml`,
      'image-files',
      order,
      ...(order === 'forget' ? ['--yes'] : []),
    );

    expect(answer).toMatchObject({ status: 0, stdout: expect.stringContaining(directory) as string });
    expect(await readDatabaseMark(directory)).toEqual({ id, order });
    expect(await readdir(directory)).toEqual(['database_id.txt']);
  });

  it('changes nothing when forget is not confirmed, and when the files belong to the database', async () => {
    const directory = await builderOf('kept');

    expect(await decline(...get().options('kept.yaml'), 'image-files', 'forget')).toBe(1);
    expect(await readDatabaseMark(directory)).toEqual({ id: OTHER, order: undefined });

    const own = { id: await ensureDatabaseId(get().zk), order: undefined };
    await writeDatabaseMark(directory, own);
    expect(await get().nodepool('kept.yaml', 'image-files', 'adopt')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('nothing to do') as string,
    });
    expect(await readDatabaseMark(directory)).toEqual(own);
  });

  it('takes an order when the database is an older copy, which lacks the last write of the builder', async () => {
    const directory = await builderOf('older');
    const id = await ensureDatabaseId(get().zk);
    const lastWrite = { version: 3, path: '/nodepool/builder-ids/gone' };
    await writeDatabaseMark(directory, { id, order: undefined, lastWrite });

    expect(await get().nodepool('older.yaml', 'image-files', 'adopt')).toMatchObject({ status: 0 });

    expect(await readDatabaseMark(directory)).toMatchObject({ id, order: 'adopt' });
  });

  it('needs a configuration with images-dir', async () => {
    expect(await get().call('image-files', 'adopt')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('has no images-dir') as string,
    });
  });
});
