import { describe, expect, it } from 'vitest';
import { LazyAbort } from './lazy-abort.js';

describe('a signal that is made when it is asked for', () => {
  it('fires when the work is aborted', () => {
    const abort = new LazyAbort();
    const { signal } = abort;

    abort.abort(new Error('over'));
    abort.abort(new Error('over again'));

    expect(signal.reason).toEqual(new Error('over'));
    expect(abort.cause).toEqual(new Error('over'));
  });

  it('has fired when the work was aborted before', () => {
    const abort = new LazyAbort();

    abort.abort(new Error('over'));
    abort.abort(new Error('over again'));

    expect(abort.signal.reason).toEqual(new Error('over'));
  });
});
