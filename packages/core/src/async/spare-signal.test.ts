import { describe, expect, it } from 'vitest';
import { followSignal, SpareSignal } from './spare-signal.js';

const never = () => () => {};

describe('a spare signal', () => {
  it('serves again after an answer that came at once, not while one is waited for', async () => {
    const spare = new SpareSignal();
    const given: AbortSignal[] = [];
    const answer = (value: boolean | Promise<boolean>) => (signal: AbortSignal) => {
      given.push(signal);
      return value;
    };

    expect(spare.ask(answer(true), never)).toBe(true);
    const late = spare.ask(answer(Promise.resolve(true)), never);
    expect(spare.ask(answer(false), never)).toBe(false);

    expect(await late).toBe(true);
    expect(given[1]).toBe(given[0]);
    expect(given[2]).not.toBe(given[1]);
  });

  it('does not serve for ever, so that what listens to it is let go', () => {
    const spare = new SpareSignal();
    const given = new Set<AbortSignal>();

    for (let i = 0; i < 1_000; i++) void spare.ask((signal) => Boolean(given.add(signal)), never);

    expect(given.size).toBe(10);
  });

  it('follows another signal while the answer takes its time', async () => {
    const caller = new AbortController();
    const ask = (signal: AbortSignal) =>
      new Promise<boolean>((resolve) => {
        signal.addEventListener('abort', () => resolve(signal.reason === 'over'));
      });
    const follow = (own: AbortController) => followSignal(caller.signal, own);

    const answer = new SpareSignal().ask(ask, follow);
    caller.abort('over');

    expect(await answer).toBe(true);
  });
});
