import { setMaxListeners } from 'node:events';

/** A signal that is never aborted. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;

setMaxListeners(0, NEVER_ABORTED); // one for each running call
