import { afterEach, describe, expect, it } from 'vitest';
import { NotFoundError, ProviderUnavailableError } from '../../contract/errors.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { InstanceList } from './instance-list.js';
import { runMachine, type RunMachineOptions } from './run-machine.js';
import { createStateMachine, done, failed, goto, wait } from './state-machine.js';
import type { Handlers, MachineState, Step, Transition } from '../../contract/state-machine.js';

let clock = new VirtualClock();

function options(changes: Partial<RunMachineOptions> = {}): RunMachineOptions {
  const source = { listInstances: () => Promise.resolve([]) };
  const random = () => 0;
  return {
    clock,
    random,
    logger: silentLogger,
    signal: new AbortController().signal,
    instances: new InstanceList({ source, clock, random, logger: silentLogger }),
    ...changes,
  };
}

type Script = readonly (Step<MachineState, string> | Error)[];

/** A machine that does what the script says, whatever its state. */
function scripted(script: Script, externalId?: string) {
  const rest = [...script];
  const next = () => {
    const step = rest.shift();
    if (step instanceof Error) throw step;
    return step ?? done('end');
  };
  return createStateMachine<MachineState, string, undefined>({
    name: 'scripted',
    initial: { name: 'start', externalId },
    handlers: new Proxy({}, { get: () => next }),
    context: undefined,
  });
}

afterEach(() => {
  expect(clock.pendingTimers).toBe(0);
  clock = new VirtualClock();
});

describe('runMachine', () => {
  it('goes from state to state without waiting and reports each change', async () => {
    const seen: Transition[] = [];
    const machine = scripted([goto({ name: 'one' }), goto({ name: 'two' }), done('gold')]);

    const result = await runMachine(machine, options({ onTransition: (transition) => seen.push(transition) }));

    expect(result).toBe('gold');
    expect(seen.map(({ from, to }) => `${from} > ${to}`)).toEqual(['start > one', 'one > two', 'two > done']);
    expect(machine.complete).toBe(true);
  });

  it('runs steps without an external id as orders, until the id is stored', async () => {
    const events: string[] = [];
    const machine = scripted([goto({ name: 'one' }), goto({ name: 'two', externalId: 'i-1' }), done('gold')]);
    const ordering = async <T>(step: () => Promise<T>) => {
      events.push('begins');
      return step().finally(() => events.push('ends'));
    };
    const saveExternalId = () => Promise.resolve(void events.push('stored'));

    await runMachine(machine, options({ ordering, saveExternalId }));

    expect(events).toEqual(['begins', 'ends', 'begins', 'stored', 'ends']);
  });

  it('stores an external id, once, before the next handler is called', async () => {
    const order: string[] = [];
    type State = { readonly name: 'start' } | { readonly name: 'made' | 'checked'; readonly externalId: string };
    const handlers = {
      start: () => goto({ name: 'made', externalId: 'i-1' }),
      made: () => {
        order.push('made');
        return goto({ name: 'checked', externalId: 'i-1' });
      },
      checked: () => done('gold'),
    } satisfies Handlers<State, string, undefined>;
    const machine = createStateMachine<State, string, undefined>({
      name: 'create',
      initial: { name: 'start' },
      handlers,
      context: undefined,
    });

    await runMachine(
      machine,
      options({
        saveExternalId: async (externalId) => {
          await Promise.resolve();
          order.push(`saved ${externalId}`);
        },
      }),
    );

    expect(order).toEqual(['saved i-1', 'made']);
  });

  it('stops when the external id cannot be stored', async () => {
    const machine = scripted([goto({ name: 'made', externalId: 'i-1' }), new Error('continued')]);
    const saveExternalId = () => Promise.reject(new Error('the lock is lost'));

    await expect(runMachine(machine, options({ saveExternalId }))).rejects.toThrow('the lock is lost');
  });

  it.each<[string, Script, number]>([
    ['a fixed wait', [wait(1_500), done('x')], 1_500],
    ['growing pauses', [wait(), wait(), wait(), done('x')], 700],
    ['an event', [wait({ until: () => Promise.resolve(), ms: 9_000 }), done('x')], 0],
    ['an event that does not come', [wait({ until: () => new Promise(() => undefined), ms: 9_000 }), done('x')], 9_000],
  ])('waits for %s', async (_name, script, ms) => {
    const startedMs = clock.now();

    await clock.run(runMachine(scripted(script), options()));

    expect(clock.now() - startedMs).toBe(ms);
  });

  it.each<[string, Script, string | undefined, string | undefined]>([
    ['an error', [new NotFoundError('gone')], 'i-1', 'gone'],
    ['a failed step', [failed(new Error('bad'))], 'i-1', 'bad'],
    ['a cloud that does not answer, without an id', [new ProviderUnavailableError('down')], undefined, 'down'],
    ['a cloud that does not answer for a while', [new ProviderUnavailableError('down'), done('x')], 'i-1', undefined],
    [
      'a cloud that does not answer at all',
      Array.from({ length: 9 }, () => new ProviderUnavailableError('down')),
      'i-1',
      'down',
    ],
  ])('ends as it should after %s', async (_name, script, externalId, message) => {
    const running = clock.run(runMachine(scripted(script, externalId), options({ maxRepeats: 3 })));

    if (message === undefined) await expect(running).resolves.toBe('x');
    else await expect(running).rejects.toThrow(message);
  });

  it('reports once that the cloud does not answer, and its recovery', async () => {
    const told: boolean[] = [];
    const down = () => new ProviderUnavailableError('down');
    const script = [down(), down(), wait(1), down(), done('x')];

    await clock.run(runMachine(scripted(script, 'i-1'), options({ onOutage: (isAway) => told.push(isAway) })));

    expect(told).toEqual([true, false, true, false]);
  });

  it('ends at its deadline in any state', async () => {
    const machine = scripted([goto({ name: 'stuck' }), wait(60_000)]);
    const timeoutError = (state: string) => new Error(`over in ${state}`);

    await expect(clock.run(runMachine(machine, options({ timeoutMs: 1_000, timeoutError })))).rejects.toThrow(
      'over in stuck',
    );
  });

  it('ends on abort with the reason of the signal', async () => {
    const abort = new AbortController();
    const running = runMachine(scripted([wait(60_000)]), options({ signal: abort.signal }));

    abort.abort(new Error('the process ends'));

    await expect(running).rejects.toThrow('the process ends');
  });

  it('stores an id again after a state without one, as the machine started over', async () => {
    const stored: MachineState[] = [];
    const machine = scripted([
      goto({ name: 'inserting', externalId: 'i' }),
      goto({ name: 'start' }),
      goto({ name: 'inserting', externalId: 'i' }),
      done('gold'),
    ]);

    await runMachine(machine, options({ saveExternalId: (_id, state) => Promise.resolve(void stored.push(state)) }));

    expect(stored).toHaveLength(2);
  });

  it('continues in a stored state, unless the machine does not have it', () => {
    const handlers = { start: () => done('start'), waiting: () => done('waiting') };
    const make = (name: string) =>
      createStateMachine<MachineState & { name: 'start' | 'waiting' }, string, undefined>({
        ...{ name: 'resumed', initial: { name: 'start' }, handlers, context: undefined },
        resumed: { name, externalId: 'i' },
      });

    expect(make('waiting').state).toEqual({ name: 'waiting', externalId: 'i' });
    expect(make('toString').state).toEqual({ name: 'start' });
  });
});
