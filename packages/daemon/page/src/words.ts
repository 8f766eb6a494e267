/** What a pool does with a request, in plain words. */
const ACTIONS: Readonly<Record<string, string>> = {
  accept: 'can serve it now',
  handling: 'serves it',
  wait: 'serves it when there is capacity',
  yield: 'leaves it to a better pool for a moment',
  defer: 'takes it later, or leaves it to others',
  decline: 'cannot serve it',
  skip: 'does not look at it',
  foreign: 'belongs to another launcher',
};

/** Rules and causes whose names do not speak for themselves. */
const CAUSES: Readonly<Record<string, string>> = {
  accept: 'nothing is in the way',
  handling: 'nodes are handed over',
  launching: 'a machine is being made',
  'launch-failed': 'a launch failed',
  'key-scan': 'host keys are read',
  planning: 'it is looked at',
  'not-planning': 'the provider does not run',
  unseen: 'no launcher has looked at it',
  'label-quota': 'all machines of the label are taken',
  'tenant-quota': 'the limit of the tenant',
  'pool-full': 'the pool is full',
  'label-elsewhere': 'another pool has the label',
  'yield-to-provider': 'another provider is preferred',
  'yield-to-priority': 'a pool of higher priority is asked first',
  'yield-to-first': 'another pool was first',
  'already-declined': 'it was refused before',
  'not-requested': 'it is not waiting any more',
  'max-concurrency': 'too many requests at once',
  'launch-ramp': 'launches begin slowly after failures',
  'failed-over': 'its launches failed here',
  'exceeds-quota': 'more than the quota allows in all',
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

/** A sentence about a request without its name in front, which stands beside it. */
export function withoutSubject(text: string, id: string): string {
  const rest = text.startsWith(`Request ${id} `) ? text.slice(`Request ${id} `.length) : text;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

/** What a state means: in order, on its way, wanting a look, or wrong. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain';

const TONES: Readonly<Record<string, Tone>> = {
  ...{ ready: 'good', running: 'good', fulfilled: 'good', up: 'good', ok: 'good' },
  ...{ init: 'busy', building: 'busy', testing: 'busy', pending: 'busy', 'in-use': 'busy', uploading: 'busy' },
  ...{ hold: 'warn', paused: 'warn', draining: 'warn', limited: 'warn', requested: 'warn', starting: 'warn' },
  ...{ warning: 'warn', failed: 'bad', down: 'bad', error: 'bad', degraded: 'bad' },
};

/** @param state - of a node, request, provider, host or service */
export function toneOf(state: string): Tone {
  return TONES[state] ?? 'plain';
}
