import { isOurs, type Instance, type MachineRun, type Step } from '@nodepool/core';
import { expect, it } from 'vitest';
import { fakeDaemon, makeInstance, SIGNAL, TAGS, type FakeDaemon } from '../test/support/daemon.js';
import { createHandlers, type CreateContext, type CreateState } from './create-node.js';
import type { IncusInstance } from './instance.js';
import { asKeys, ATTEMPT_KEY, carries } from './ownership.js';

const NAME = 'np0000000001-aaaaaa';
const creation = { externalId: NAME, attempt: 'a' };

function contextOf({ client, operations, look }: FakeDaemon, changes: Partial<CreateContext> = {}): CreateContext {
  const source = { type: 'image', alias: 'debian' };
  return {
    ...{ client, operations, name: NAME, target: undefined, startsOnCreation: false, usesUpload: false },
    body: (attempt) => ({ name: NAME, type: 'container', config: { ...asKeys(TAGS), [ATTEMPT_KEY]: attempt }, source }),
    newAttempt: () => 'a',
    isOfNode: ({ metadata }) => carries(metadata, TAGS),
    isOwn: ({ metadata }) => isOurs(metadata, TAGS.nodepool_provider_name, TAGS.nodepool_database_id),
    look: () => look(NAME),
    login: {},
    ...changes,
  };
}

type Handler = (
  state: CreateState,
  context: CreateContext,
  run: MachineRun<IncusInstance>,
) => Promise<Step<CreateState, Instance>>;

/** Runs a creation from a state. @returns the names of the states it went through, and the instance */
async function runFrom(world: FakeDaemon, first: CreateState) {
  const names: string[] = [];
  const context = contextOf(world);
  let visits = 0;
  for (let state = first; ;) {
    if (visits === 0) names.push(state.name);
    const handler = createHandlers[state.name] as Handler;
    const step = await handler(state, context, world.run(visits));
    if (step.step === 'failed') throw step.error;
    if (step.step === 'done') return { names, result: step.result };
    if (step.step === 'goto') [state, visits] = [step.state, 0];
    else {
      visits++;
      await world.clock.advance(step.ms ?? 1_000);
    }
  }
}

it('stores its name before it creates anything', () => {
  const world = fakeDaemon();

  expect(createHandlers.start({ name: 'start' }, contextOf(world))).toEqual({
    step: 'goto',
    state: { name: 'creating', ...creation },
  });
  expect(world.daemon.calls).toEqual([]);
});

it('creates, waits for the operation, and starts', async () => {
  const world = fakeDaemon();
  const context = contextOf(world);

  const created = await createHandlers.creating({ name: 'creating', ...creation }, context, world.run());
  expect(created).toMatchObject({ step: 'goto', state: { name: 'waiting-for-creation' } });
  const { id = '' } = [...world.daemon.state.operations.values()][0] ?? {};
  const waiting = { name: 'waiting-for-creation' as const, operation: id, ...creation };
  expect(await createHandlers['waiting-for-creation'](waiting, context, world.run())).toMatchObject({ step: 'wait' });
  await world.clock.advance(1_000);

  expect(await createHandlers['waiting-for-creation'](waiting, context, world.run(1))).toMatchObject({
    state: { name: 'starting' },
  });
});

it('recognizes the instance of a creation without an answer', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys(TAGS), [ATTEMPT_KEY]: 'a' });
  const state = { name: 'identifying' as const, ...creation };

  expect(await createHandlers.identifying(state, contextOf(world), world.run())).toMatchObject({
    state: { name: 'starting' },
  });
});

it('deletes what an earlier attempt of the node left, and nothing else', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys(TAGS), [ATTEMPT_KEY]: 'earlier' });
  const state = { name: 'identifying' as const, ...creation };
  expect(await createHandlers.identifying(state, contextOf(world), world.run())).toMatchObject({
    ...{ step: 'failed', error: { code: 'NODEPOOL_LAUNCH_STATUS' } },
  });

  await world.client.configureInstance(NAME, asKeys({ ...TAGS, nodepool_database_id: 'foreign' }), SIGNAL);

  const taken = await createHandlers.identifying(state, contextOf(world), world.run());
  const nameTaken = { name: 'name-taken', isByOwn: false } as const;
  expect(taken).toEqual({ step: 'goto', state: nameTaken });
  expect(createHandlers['name-taken'](nameTaken, contextOf(world))).toMatchObject({
    ...{ step: 'failed', error: { code: 'NODEPOOL_CONFIG', reason: 'NameTaken' } },
  });
});

it('fails for now where a former node of the number has the name, in a database that was restored', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys({ ...TAGS, nodepool_node_created: '1' }), [ATTEMPT_KEY]: 'former' });
  const isOfNode = ({ metadata }: IncusInstance) => carries(metadata, { ...TAGS, nodepool_node_created: '2' });
  const context = contextOf(world, { isOfNode });
  const state = { name: 'identifying' as const, ...creation };

  const taken = await createHandlers.identifying(state, context, world.run());
  expect(taken).toEqual({ step: 'goto', state: { name: 'name-taken', isByOwn: true } });
  expect(createHandlers['name-taken']({ name: 'name-taken', isByOwn: true }, context)).toMatchObject({
    ...{ step: 'failed', error: { code: 'NODEPOOL_LAUNCH_STATUS' } },
  });
});

it('starts again after a restart of the daemon', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys(TAGS), [ATTEMPT_KEY]: 'a' });
  const waiting = { name: 'waiting-for-start' as const, operation: 'lost', ...creation };

  expect(await createHandlers['waiting-for-start'](waiting, contextOf(world), world.run(1))).toMatchObject({
    state: { name: 'starting' },
  });
});

it('starts again once another operation has ended, such as the creation that an earlier launcher began', async () => {
  const world = fakeDaemon();
  const source = { type: 'image', alias: 'debian' };
  const config = { ...asKeys(TAGS), [ATTEMPT_KEY]: 'a' };
  await world.client.createInstance({ name: NAME, type: 'container', config, source }, undefined, SIGNAL);

  const { names, result } = await runFrom(world, { name: 'identifying', ...creation });

  const starts = ['starting', 'waiting-for-start'];
  expect(names).toEqual(['identifying', ...starts, 'busy', ...starts, 'waiting-for-address']);
  expect(result).toMatchObject({ externalId: NAME, status: 'Running' });
});

it('waits for the address of an instance that an earlier launcher has started', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys(TAGS), [ATTEMPT_KEY]: 'a' }, true);

  const { names } = await runFrom(world, { name: 'identifying', ...creation });

  expect(names).toEqual(['identifying', 'starting', 'waiting-for-start', 'busy', 'waiting-for-address']);
});

it('gives up a creation that a restart of the daemon interrupted, as its root disk may be incomplete', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys(TAGS), [ATTEMPT_KEY]: 'a' });
  const waiting = { name: 'waiting-for-creation' as const, operation: 'lost', ...creation };

  await expect(createHandlers['waiting-for-creation'](waiting, contextOf(world), world.run(1))).rejects.toThrow(
    /how its creation ended is unknown, as after a restart of the daemon/,
  );
});

it('does not blame the configuration for an uploaded image that was deleted meanwhile', async () => {
  const world = fakeDaemon();
  const body = () => ({ name: NAME, source: { type: 'image', alias: 'missing' } });
  const state = { name: 'creating' as const, ...creation };

  await expect(createHandlers.creating(state, contextOf(world, { body }), world.run())).rejects.toMatchObject({
    ...{ code: 'NODEPOOL_CONFIG', reason: 'ImageMissing' },
  });
  expect(await createHandlers.creating(state, contextOf(world, { body, usesUpload: true }), world.run())).toMatchObject(
    {
      ...{ step: 'failed', error: { code: 'NODEPOOL_LAUNCH_STATUS' } },
    },
  );
});

it('reads host keys from inside, and says that these are the only ones', async () => {
  const world = fakeDaemon();
  await makeInstance(world, NAME, { ...asKeys(TAGS), [ATTEMPT_KEY]: 'a' }, true);
  const hostKeys = () => Promise.resolve(['ssh-ed25519 AAAA']);
  const context = contextOf(world, { hostKeys, login: { connectionType: 'ssh', username: 'root' } });
  const found = await createHandlers['waiting-for-address'](
    { name: 'waiting-for-address', ...creation },
    context,
    world.run(),
  );
  const instance = await world.look(NAME);
  if (!instance) throw new Error('there is no instance');

  const state = { name: 'reading-host-keys' as const, externalId: NAME, instance };
  const read = await createHandlers['reading-host-keys'](state, context, world.run());

  expect(found).toMatchObject({ state: { name: 'reading-host-keys' } });
  expect(read).toMatchObject({ result: { hostKeys: ['ssh-ed25519 AAAA'], onlyTheseHostKeys: true } });
  expect(read).toMatchObject({ result: { connectionType: 'ssh', username: 'root' } });
});
