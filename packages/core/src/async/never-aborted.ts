import { setMaxListeners } from 'node:events';

/** A signal that never fires, for calls that are never given up. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;

setMaxListeners(0, NEVER_ABORTED); // one for each such call under way
