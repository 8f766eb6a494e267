import { expect, it, onTestFinished, vi } from 'vitest';
import { InterruptedError, Interrupts } from './interrupts.js';

function start(): Interrupts {
  const interrupts = new Interrupts();
  onTestFinished(() => interrupts.dispose());
  return interrupts;
}

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('aborts at %s, with the exit status %i of shells', (signal, exitStatus) => {
  const interrupts = start();

  process.emit(signal, signal);

  expect(interrupts.signal.reason).toBeInstanceOf(InterruptedError);
  expect(interrupts.signal.reason).toMatchObject({ exitStatus });
  expect(interrupts.status).toBe(exitStatus);
});

it('ends the process at the second signal', () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  onTestFinished(() => exit.mockRestore());
  start();

  process.emit('SIGINT', 'SIGINT');
  expect(exit).not.toHaveBeenCalled();
  process.emit('SIGTERM', 'SIGTERM');

  expect(exit).toHaveBeenCalledWith(143);
});

it('hands signals to their receiver, until they are taken back', () => {
  const interrupts = start();
  const received: string[] = [];
  interrupts.divert((signal) => void received.push(signal));
  process.emit('SIGINT', 'SIGINT');

  interrupts.divert(undefined);
  expect([received, interrupts.signal.aborted]).toEqual([['SIGINT'], false]);
  process.emit('SIGINT', 'SIGINT');

  expect([received, interrupts.signal.aborted]).toEqual([['SIGINT'], true]);
});

it('treats a closed reader of its output as a hang-up', () => {
  const interrupts = start();

  process.stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));

  expect(interrupts.signal.reason).toMatchObject({ exitStatus: 129 });
});

it('leaves no listeners behind', () => {
  const before = process.listenerCount('SIGINT');

  new Interrupts().dispose();

  expect(process.listenerCount('SIGINT')).toBe(before);
});
