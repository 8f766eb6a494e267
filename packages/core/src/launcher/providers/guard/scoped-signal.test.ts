import { describe, expect, it } from 'vitest';
import { currentDriverScope, type DriverScope } from './driver-scope.js';
import { askWithSignal } from './scoped-signal.js';

const scope: DriverScope = { provider: 'cloud', driver: 'test', fault: () => {} };

describe('a question that a driver may answer at once', () => {
  it('is answered at once, without a promise', () => {
    const { signal } = new AbortController();

    expect(askWithSignal(scope, signal, () => true)).toBe(true);
    expect(askWithSignal(scope, signal, () => false)).toBe(false);
  });

  it('is given up when the launcher gives up, in the scope of the driver', async () => {
    const launcher = new AbortController();
    const scopes: (DriverScope | undefined)[] = [];

    const answer = askWithSignal(
      scope,
      launcher.signal,
      (signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            scopes.push(currentDriverScope());
            resolve(false);
          });
        }),
    );
    launcher.abort(new Error('over'));

    expect(await answer).toBe(false);
    expect(scopes).toEqual([scope]);
  });

  it('is asked with an aborted signal when the launcher has given up before', async () => {
    const asked: unknown[] = [];

    const answer = askWithSignal(scope, AbortSignal.abort('over'), (signal) => {
      asked.push(signal.reason);
      return !signal.aborted;
    });

    expect(await answer).toBe(false);
    expect(asked).toEqual(['over']);
  });

  it('leaves the signal alone once it is answered', async () => {
    const launcher = new AbortController();
    const given: AbortSignal[] = [];
    const ask = (signal: AbortSignal) => Promise.resolve(given.push(signal) > 0);

    await askWithSignal(scope, launcher.signal, ask);
    launcher.abort();

    expect(given[0]?.aborted).toBe(false);
  });
});
