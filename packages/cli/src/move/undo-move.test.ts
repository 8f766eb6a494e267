import { DATABASE_ID_PATH } from '@nodepool/zk-protocol';
import { beforeEach, expect, it, vi } from 'vitest';
import { useWorld } from '../../test/world.js';
import { CliError } from '../command/errors.js';
import { giveUpCopy, type UndoWork } from './undo-move.js';

const get = useWorld();
const DATABASE_ID = 'c'.repeat(32);
const NOTE = { id: 'move-1', to: 'zk1:2181', isDone: true };

beforeEach(() => get().zk.create(DATABASE_ID_PATH, DATABASE_ID));

/** Gives up the copy. @returns whether the embedded database may be used, and what the person was told */
async function giveUp(changes: Partial<UndoWork> = {}) {
  let told = '';
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => Boolean((told += String(text)))),
  );
  const configured = () => Promise.resolve('zk1:2181');
  const work = { note: NOTE, dataDir: '/state', databaseId: DATABASE_ID, configured, yes: false, force: false };
  try {
    const isGivenUp = await giveUpCopy(get().context(), { ...work, ...changes });
    return { isGivenUp, told };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const hasId = async () => (await get().zk.exists(DATABASE_ID_PATH)) !== undefined;

it('deletes the id of the database from the copy, with --yes', async () => {
  expect(await giveUp({ yes: true })).toEqual({ isGivenUp: true, told: '' });
  expect(await hasId()).toBe(false);
});

it('asks first, and changes nothing where there is no terminal to ask at', async () => {
  const { isGivenUp, told } = await giveUp();

  expect(isGivenUp).toBe(false);
  expect(told).toContain('WARNING! Services that use zk1:2181 must be stopped first.');
  expect(told).toContain('there is no terminal to ask at. Add --yes');
  expect(await hasId()).toBe(true);
});

it('does not ask about a move that was not completed', async () => {
  expect(await giveUp({ note: { ...NOTE, isDone: false } })).toMatchObject({ isGivenUp: true });
});

it('refuses while services use the ensemble, and only warns with --force', async () => {
  await get().registerRack(['small']);

  await expect(giveUp({ yes: true })).rejects.toThrow(/services use the ensemble zk1:2181: \S+\. Nothing was changed/);
  const { isGivenUp, told } = await giveUp({ force: true });

  expect(isGivenUp).toBe(true);
  expect(told).toContain('Stop them before a service uses the embedded database: they delete its machines.');
});

it('refuses a configuration that names another ensemble', async () => {
  await expect(giveUp({ yes: true, configured: () => Promise.resolve('other:2181') })).rejects.toThrow(
    'nodepool.yaml names other:2181. Name the configuration of the move with -c',
  );
});

it('abandons an unreachable copy only with --force, with a warning', async () => {
  const configured = () => Promise.reject(new CliError('names no zookeeper-servers'));

  await expect(giveUp({ yes: true, configured })).rejects.toThrow('names no zookeeper-servers');
  const { isGivenUp, told } = await giveUp({ force: true, configured });

  expect(isGivenUp).toBe(true);
  expect(told).toContain('The copy at zk1:2181 was not changed: names no zookeeper-servers');
  expect(await hasId()).toBe(true);
});
