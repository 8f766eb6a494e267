import { NotFoundError, silentLogger, type MachineRun } from '@nodepool/core';
import { describe, expect, it } from 'vitest';
import { deleteHandlers, type DeleteContext, type DeleteState } from './delete-node.js';
import { NotYetError } from './errors.js';
import { toInstance, type KubernetesInstance } from './instance.js';

const ID = 'main-1';
const instance = (uid: string, meta = {}) => toInstance(ID, { metadata: { name: ID, uid, ...meta } }, undefined);

interface Setting {
  readonly found?: KubernetesInstance | undefined;
  readonly look?: KubernetesInstance | undefined;
  readonly isOurs?: boolean;
  readonly isWatching?: boolean;
  readonly refusal?: Error;
  readonly waitedMs?: number;
}

async function advance(state: DeleteState, setting: Setting = {}) {
  const noted: (string | undefined)[] = [];
  const context: DeleteContext = {
    look: () => Promise.resolve(setting.look),
    mayDelete: () => setting.isOurs ?? true,
    delete: () => (setting.refusal ? Promise.reject(setting.refusal) : Promise.resolve()),
    isPolling: () => false,
    isWatching: () => setting.isWatching ?? true,
    mark: () => 0,
    changed: () => Promise.resolve(),
    note: (one) => noted.push(one?.externalId),
  };
  const run = {
    ...{ signal: new AbortController().signal, logger: silentLogger, enteredMs: 0, nowMs: setting.waitedMs ?? 0 },
    instances: { find: () => Promise.resolve(setting.found), list: () => Promise.resolve([]) },
  } as unknown as MachineRun<KubernetesInstance>;
  const handler = deleteHandlers[state.name] as (...args: unknown[]) => unknown;
  const step = (await handler(state, context, run)) as { step: string; state?: DeleteState };
  return { to: step.step === 'goto' ? step.state?.name : step.step, noted };
}

const start: DeleteState = { name: 'start', externalId: ID };
const deleting: DeleteState = { name: 'deleting', externalId: ID, uid: 'a' };
const waiting: DeleteState = { name: 'waiting-until-gone', externalId: ID, uid: 'a' };

describe('a deletion', () => {
  it.each<[string, DeleteState, Setting, string]>([
    ['deletes what it finds', start, { found: instance('a') }, 'deleting'],
    ['looks itself when nothing was seen', start, { look: instance('a') }, 'deleting'],
    [
      'waits for what is being deleted already',
      start,
      { found: instance('a', { deletionTimestamp: 'x' }) },
      'waiting-until-gone',
    ],
    ['is done when there is nothing', start, {}, 'done'],
    ['leaves what is not its own', start, { found: instance('a'), isOurs: false }, 'done'],
    ['waits after the call', deleting, {}, 'waiting-until-gone'],
    ['is done when it is gone by then', deleting, { refusal: new NotFoundError('gone') }, 'done'],
    [
      'waits when another call was first',
      deleting,
      { refusal: new NotYetError(''), look: instance('a') },
      'waiting-until-gone',
    ],
    [
      'is done when its name has another object',
      deleting,
      { refusal: new NotYetError(''), look: instance('b') },
      'done',
    ],
    ['is done when it is gone', waiting, {}, 'done'],
    ['is done when another has its name', waiting, { found: instance('b') }, 'done'],
    ['waits while it is there', waiting, { found: instance('a') }, 'wait'],
    ['looks itself while changes do not arrive', waiting, { found: instance('a'), isWatching: false }, 'done'],
  ])('%s', async (_name, state, setting, to) => {
    expect((await advance(state, setting)).to).toBe(to);
  });

  it('notes what does not go for a minute, and that it is gone', async () => {
    expect((await advance(waiting, { found: instance('a'), waitedMs: 59_000 })).noted).toEqual([]);
    expect((await advance(waiting, { found: instance('a'), waitedMs: 60_000 })).noted).toEqual([ID]);
    expect((await advance(waiting)).noted).toEqual([undefined]);
  });

  it('passes on other errors', async () => {
    await expect(advance(deleting, { refusal: new Error('no') })).rejects.toThrow('no');
  });
});
