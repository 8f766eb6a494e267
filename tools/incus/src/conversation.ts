/** One call of the conversation. */
interface Turn {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/1.0`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Repeated until the answer contains this. */
  readonly until?: string;
  /** Call that is made before the operation of this one ends. */
  readonly meanwhile?: Turn;
}

/** Answer to a call. */
export interface Said {
  readonly status: number;
  readonly text: string;
}

/** A daemon, the real or the fake one. */
export interface Daemon {
  call(method: Turn['method'], path: string, body?: string): Promise<Said>;
  /** Lets time pass. */
  pass(ms: number): Promise<unknown>;
  /** Messages of the event stream so far. */
  readonly messages: readonly string[];
}

/** What is kept of an answer: its status, its error, and the types of its values. */
export interface Heard {
  readonly name: string;
  readonly status: number;
  readonly error?: string | undefined;
  readonly shape?: unknown;
  /** How the operation has ended. */
  readonly ended?: { readonly error: string; readonly shape: unknown };
}

const config = { 'user.nodepool.node_id': '0000000001' };
const creation = {
  name: 'talk',
  type: 'container',
  ephemeral: false,
  config,
  source: { type: 'image', alias: 'tiny' },
};
const stop = { action: 'stop', force: true, timeout: 0 };
const start = { action: 'start', timeout: -1 };
const STATE = '/instances/talk/state';
const KEY = '/instances/talk/files?path=/etc/ssh/ssh_host_ed25519_key.pub';

/** Calls as the driver makes them, right and wrong ones. The daemon has an image `tiny`, and no instance. */
const CONVERSATION: readonly Turn[] = [
  { name: 'server', method: 'GET', path: '' },
  { name: 'project', method: 'GET', path: '/projects/default' },
  { name: 'networks', method: 'GET', path: '/networks?recursion=1' },
  { name: 'hardware', method: 'GET', path: '/resources' },
  { name: 'images', method: 'GET', path: '/images?recursion=1' },
  { name: 'alias', method: 'GET', path: '/images/aliases/tiny' },
  { name: 'missing alias', method: 'GET', path: '/images/aliases/missing' },
  { name: 'missing image', method: 'DELETE', path: `/images/${'0'.repeat(64)}` },
  { name: 'no instances', method: 'GET', path: '/instances?recursion=2' },
  { name: 'missing instance', method: 'GET', path: '/instances/talk?recursion=1' },
  { name: 'start a missing instance', method: 'PUT', path: STATE, body: start },
  { name: 'delete a missing instance', method: 'DELETE', path: '/instances/talk' },
  {
    name: 'create of no image',
    method: 'POST',
    path: '/instances',
    body: { ...creation, source: { type: 'image', alias: 'missing' } },
  },
  { name: 'create', method: 'POST', path: '/instances', body: creation },
  { name: 'create again', method: 'POST', path: '/instances', body: creation },
  { name: 'stopped instance', method: 'GET', path: '/instances/talk?recursion=1' },
  { name: 'stop a stopped instance', method: 'PUT', path: STATE, body: stop },
  {
    ...{ name: 'start', method: 'PUT', path: STATE, body: start },
    meanwhile: { name: 'delete while it starts', method: 'DELETE', path: '/instances/talk' },
  },
  { name: 'start again', method: 'PUT', path: STATE, body: start },
  { name: 'running instance', method: 'GET', path: '/instances/talk?recursion=1', until: '"family":"inet","address":' },
  { name: 'instances', method: 'GET', path: '/instances?recursion=2' },
  { name: 'set keys', method: 'PATCH', path: '/instances/talk', body: { config: { 'user.more': 'yes' } } },
  { name: 'host key', method: 'GET', path: KEY, until: 'ssh-ed25519' },
  { name: 'missing file', method: 'GET', path: '/instances/talk/files?path=/etc/missing' },
  { name: 'delete a running instance', method: 'DELETE', path: '/instances/talk' },
  {
    ...{ name: 'stop', method: 'PUT', path: STATE, body: stop },
    meanwhile: { name: 'start while it stops', method: 'PUT', path: STATE, body: start },
  },
  { name: 'delete', method: 'DELETE', path: '/instances/talk' },
  { name: 'missing operation', method: 'GET', path: '/operations/00000000-0000-0000-0000-000000000000' },
];

const PAUSE_MS = 100;
const MOST_REPEATS = 600;

/** Holds the conversation with a daemon. */
export async function hold(daemon: Daemon): Promise<Heard[]> {
  const heard: Heard[] = [];
  for (const turn of CONVERSATION) heard.push(...(await take(daemon, turn)));
  const ended = daemon.messages.map((text) => JSON.parse(text) as { metadata: Operation });
  const last = ended.filter(({ metadata }) => metadata.status_code >= 200).at(-1);
  return [...heard, { name: 'event', status: 200, shape: shapeOf(last) }];
}

interface Operation {
  readonly id: string;
  readonly status_code: number;
  readonly err: string;
}

async function take(daemon: Daemon, { name, method, path, body, until, meanwhile }: Turn): Promise<Heard[]> {
  const ask = () => daemon.call(method, `/1.0${path}`, body && JSON.stringify(body));
  let { status, text } = await ask();
  for (let tries = 0; until !== undefined && !text.includes(until) && tries < MOST_REPEATS; tries++) {
    await daemon.pass(PAUSE_MS);
    ({ status, text } = await ask());
  }
  const answer = read(text);
  if (answer === undefined) return [{ name, status, shape: 'text' }];
  const { error, type } = answer;
  const shape = shapeOf(answer);
  if (type === 'error') return [{ name, status, error: String(error), shape }];
  if (type !== 'async') return [{ name, status, shape }];
  const between = meanwhile ? await take(daemon, meanwhile) : [];
  return [...between, { name, status, shape, ended: await endOf(daemon, (answer['metadata'] as Operation).id) }];
}

/** Waits as the driver does: the operation is forgotten some seconds after its end. */
async function endOf(daemon: Daemon, id: string): Promise<Heard['ended']> {
  for (let tries = 0; tries < MOST_REPEATS; tries++) {
    const { metadata } = read((await daemon.call('GET', `/1.0/operations/${id}`)).text) as { metadata: Operation };
    if (metadata.status_code >= 200) return { error: metadata.err, shape: shapeOf(metadata) };
    await daemon.pass(PAUSE_MS);
  }
  throw new Error(`operation ${id} does not end`);
}

function read(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined; // a file
  }
}

/** Types in place of values. A list has the shape of all its entries together. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [value.map(shapeOf).reduce(together)];
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, shapeOf(item)]));
}

function together(one: unknown, other: unknown): unknown {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return one === 'null' ? other : one;
  }
  if (Array.isArray(one)) return Array.isArray(other) && one.length === 0 ? other : one;
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
  const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
  return Object.fromEntries(
    keys.map((key) => [key, key in a && key in b ? together(a[key], b[key]) : (a[key] ?? b[key])]),
  );
}

/** Parts of a shape that another one lacks or has with another type. @param path - where it is, for the message */
export function strangeIn(shape: unknown, known: unknown, path: string): string[] {
  if (typeof shape !== 'object' || shape === null || typeof known !== 'object' || known === null) {
    return shape === known ? [] : [`${path}: ${JSON.stringify(shape)}, expected ${JSON.stringify(known)}`];
  }
  return Object.entries(shape).flatMap(([key, item]) =>
    key in known
      ? strangeIn(item, (known as Record<string, unknown>)[key], `${path}.${key}`)
      : [`${path}.${key} is unknown`],
  );
}
