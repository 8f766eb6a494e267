import { COMPONENTS_ROOT, newComponent } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { Registration } from './registration.js';

const DIRECTORY = `${COMPONENTS_ROOT}/launcher`;

/** A registered launcher whose connection can be broken while its entry is being removed. */
async function registered() {
  const clock = new VirtualClock();
  let breakNext: (() => void) | undefined;
  const server = new MemoryServer(clock, ({ changes }) => {
    if (changes.every(({ change }) => change !== 'delete')) return;
    breakNext?.();
    breakNext = undefined;
  });
  let survivors = Infinity;
  const perfect = {
    requestDelayMs: () => 10,
    replyDelayMs: () => 10,
    connectDelayMs: () => 10,
    canConnect: () => true,
  };
  const conditions = { ...perfect, survivors: () => survivors };
  const { zk, link } = connectInMemory(server, { clock, conditions, random: () => 0.5 });
  const observer = connectInMemory(server, { clock, random: () => 0.5 }).zk;
  const body = newComponent({ kind: 'launcher', hostname: 'nl01', state: 'running', version: '1' });
  const registration = new Registration(zk, body, silentLogger);
  await clock.run(registration.register());
  const session = zk.sessionId;
  return {
    clock,
    registration,
    /** The request is lost on its way. */
    breakBefore: async () => {
      survivors = 0;
      await clock.settle(); // it is sent
      await clock.advance(5);
      link.break();
    },
    /** The request takes effect, and its answer is lost. */
    breakAfter: () => (breakNext = () => link.break()),
    entries: () => clock.run(observer.getChildren(DIRECTORY)),
    sameSession: () => zk.sessionId === session,
  };
}

describe('removing an entry', () => {
  it('continues in the same session when the connection breaks before the request arrives', async () => {
    const { clock, registration, breakBefore, entries, sameSession } = await registered();
    expect(await entries()).toHaveLength(1);

    const removal = registration.remove();
    await breakBefore();
    expect(await entries()).toHaveLength(1);
    await clock.run(removal);

    expect(await entries()).toEqual([]);
    expect(sameSession()).toBe(true);
  });

  it('ends when the answer is lost', async () => {
    const { clock, registration, breakAfter, entries, sameSession } = await registered();
    breakAfter();

    await clock.run(registration.remove());

    expect(await entries()).toEqual([]);
    expect(sameSession()).toBe(true);
    expect(registration.id).toBeUndefined();
  });
});
