import type { LeasedNode } from './types.js';

/** Actions of pools in plain words. */
const ACTIONS: Readonly<Record<string, string>> = {
  accept: 'can serve it now',
  handling: 'serves it',
  wait: 'serves it when there is capacity',
  yield: 'leaves it to a better pool for a moment',
  defer: 'takes it later, or leaves it to another pool',
  decline: 'cannot serve it',
  skip: 'ignores it',
  foreign: 'belongs to another launcher',
};

/** Rules and causes in plain words. */
const CAUSES: Readonly<Record<string, string>> = {
  accept: 'it can be served now',
  handling: 'nodes are handed over',
  launching: 'a machine is being launched',
  'launch-failed': 'a launch failed',
  'key-scan': 'reading host keys',
  planning: 'the pool is planning',
  'not-planning': 'the provider is not running',
  unseen: 'no launcher has looked at it',
  'label-quota': 'all machines of the label are in use',
  'tenant-quota': 'the limit of the tenant',
  'pool-full': 'the pool is full',
  'label-elsewhere': 'another pool has the label',
  'yield-to-provider': 'another provider is preferred',
  'yield-to-priority': 'a pool of higher priority is asked first',
  'yield-to-first': 'another pool was first',
  'already-declined': 'it was refused before',
  'not-requested': 'it is not waiting any more',
  'max-concurrency': 'too many requests at once',
  'launch-ramp': 'too many launches at once',
  'failed-over': 'its launches failed here',
  'exceeds-quota': 'it exceeds the whole quota',
  'label-unavailable': 'the label does not fit the cloud',
  'images-unavailable': 'its image is missing',
  'provider-failing': 'launches fail in the provider',
  'paused-by-operator': 'an operator paused it',
  'limited-by-operator': 'an operator limited it',
};

/** @param action - of a pool in an explanation */
export function actionInWords(action: string): string {
  return ACTIONS[action] ?? action;
}

/** @param cause - a rule of a pool, or a cause of a timeline */
export function causeInWords(cause: string): string {
  return CAUSES[cause] ?? cause.replaceAll('-', ' ');
}

/** `1 host`, `2 hosts`. */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** A word of a shell command: quoted, unless it is plain. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command that logs in to a machine; `undefined` when it is not reached by SSH. */
export function sshCommand(
  node: Pick<LeasedNode, 'host' | 'port' | 'username' | 'connection_type'>,
): string | undefined {
  const { host, port, username, connection_type: type } = node;
  if (host === null || port === null || type !== 'ssh') return undefined;
  const target = username === null ? host : `${username}@${host}`;
  return `ssh -p ${port} ${target.startsWith('-') ? '-- ' : ''}${shellWord(target)}`;
}

/** Removes the request id from the start of a sentence, for places where the id stands beside it. */
export function withoutSubject(text: string, id: string): string {
  const rest = text.startsWith(`Request ${id} `) ? text.slice(`Request ${id} `.length) : text;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

/** Meaning of a state: healthy, in progress, needs attention, or failed. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain';

const TONES: Readonly<Record<string, Tone>> = {
  ...{ ready: 'good', running: 'good', fulfilled: 'good', up: 'good', ok: 'good' },
  ...{ init: 'busy', building: 'busy', testing: 'busy', pending: 'busy', 'in-use': 'busy', uploading: 'busy' },
  ...{ active: 'good', waiting: 'warn' },
  ...{ hold: 'warn', paused: 'warn', draining: 'warn', limited: 'warn', requested: 'warn', starting: 'warn' },
  ...{ warning: 'warn', failed: 'bad', down: 'bad', error: 'bad', degraded: 'bad' },
};

/** @param state - of a node, request, provider, host or service */
export function toneOf(state: string): Tone {
  return TONES[state] ?? 'plain';
}
