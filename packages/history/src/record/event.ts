import type { JsonObject, Resources } from '@nodepool/zk-protocol';

/**
 * Events of a request.
 * - `queued` it entered the queue of a pool; `text` is the first request of the same group, if any
 * - `waits` a rule of the pool holds it back; `behind` the rule holds back an earlier request of the same group
 * - `left` the pool does not queue it for now; `declined` the pool will never serve it
 * - `taken` the pool accepted it; `paused` and `resumed`: some of its nodes started or stopped waiting for capacity
 * - `ended` the pool stopped working on it without success; `rule` is the outcome
 * - `fulfilled`, `failed`, `gone`: its end
 */
export const REQUEST_EVENTS = [
  'queued',
  'waits',
  'behind',
  'left',
  'declined',
  'taken',
  'paused',
  'resumed',
  'ended',
  'fulfilled',
  'failed',
  'gone',
] as const;
/** One of {@link REQUEST_EVENTS}. */
export type RequestEventName = (typeof REQUEST_EVENTS)[number];

/**
 * Events of a node.
 * - `state` it entered the state in `rule`; `text` is the project of a node in use, `lease` for one on hold by a lease, and why one is deleted
 * - `stage` its launch entered the stage in `rule`; `error` a launch attempt failed
 * - `allocated` to the request in `text`; without one, it is free again
 * - `gone` its record was deleted
 */
export const NODE_EVENTS = ['state', 'stage', 'error', 'allocated', 'gone'] as const;
/** One of {@link NODE_EVENTS}. */
export type NodeEventName = (typeof NODE_EVENTS)[number];

/** An event of a request or node. */
export interface PastEvent {
  readonly timeMs: number;
  readonly what: RequestEventName | NodeEventName;
  /** Pool of a request event as `provider/pool`, or empty. */
  readonly pool: string;
  readonly rule: string;
  readonly text: string;
}

/** Constant properties of a request. */
export interface RequestFacts {
  readonly createdMs: number | undefined;
  readonly labels: readonly string[];
  readonly requestor: string | null;
  readonly tenant: string | null;
  /** Missing: 0. */
  readonly relativePriority?: number | undefined;
  /** The only provider that may serve it; missing: any provider. */
  readonly provider?: string | null | undefined;
}

/** Constant properties of a node. */
export interface NodeFacts {
  /** Request for which it was launched or to which it was allocated. */
  readonly request: string | undefined;
  readonly labels: readonly string[];
  /** `provider/pool`. */
  readonly pool: string;
  /** Tenant of the request; missing: none, or not recorded. */
  readonly tenant?: string | undefined;
  /** Resources besides one instance; missing: unknown. */
  readonly resources?: Resources | undefined;
}

/** One line of the history. */
export type PastLine =
  | {
      readonly kind: 'request';
      readonly id: string;
      readonly facts?: RequestFacts;
      readonly events: readonly PastEvent[];
    }
  | {
      readonly kind: 'node';
      readonly id: string;
      /** Only the first line of a node holds labels, pool, tenant and resources. */
      readonly facts: NodeFacts;
      readonly isFirst?: boolean;
      readonly events: readonly PastEvent[];
    }
  /** The launcher was running at this time. Until its next line it is unknown whether it still was. */
  | { readonly kind: 'alive'; readonly timeMs: number; readonly what: 'alive' | 'stop' };

const MAX_TEXT_LENGTH = 300;
/** Replaces a pool that is the same as in the previous event. */
const SAME_POOL = 1;
/** Short names of the events keep the files small. */
const LETTERS = {
  ...{ queued: 'q', waits: 'w', behind: 'b', left: 'l', declined: 'd', taken: 't', paused: 'p', resumed: 'r' },
  ...{ ended: 'e', fulfilled: 'F', failed: 'X', gone: 'G', state: '=', stage: '+', error: '!', allocated: '@' },
} as const satisfies Record<PastEvent['what'], string>;
const NAMES: ReadonlyMap<unknown, PastEvent['what']> = new Map(
  Object.entries(LETTERS).map(([name, letter]) => [letter, name as PastEvent['what']]),
);

/** Makes an event; limits the length of its text. */
export function pastEvent(timeMs: number, what: PastEvent['what'], pool = '', rule = '', text = ''): PastEvent {
  return {
    timeMs,
    what,
    pool,
    rule,
    text: text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text,
  };
}

/** Text that needs no escapes in JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Encodes a line without its line feed. Concatenates strings because encoding dominates the CPU cost of the history.
 * @param baseMs - times in the line are relative to this time
 */
export function encodeLine(line: PastLine, baseMs: number): string {
  if (line.kind === 'alive') return JSON.stringify({ s: line.what, t: line.timeMs - baseMs });
  const { id, events } = line;
  const firstMs = events[0]?.timeMs ?? baseMs;
  const head = `{"${line.kind === 'node' ? 'n' : 'r'}":${quote(id)},"t":${firstMs - baseMs}`;
  const facts =
    line.kind === 'node' ? encodeNodeFacts(line.facts, line.isFirst) : encodeRequestFacts(line.facts, firstMs);
  return `${head}${facts},"e":[${encodeEvents(events, firstMs)}]}`;
}

function encodeNodeFacts(
  { request, pool, labels, tenant, resources }: NodeFacts,
  isFirst: boolean | undefined,
): string {
  const of = request === undefined ? '' : `,"r":${quote(request)}`;
  if (isFirst !== true) return of;
  const needs = resources === undefined ? '' : `,"z":${JSON.stringify(resources)}`;
  const by = tenant === undefined ? '' : `,"x":${quote(tenant)}`;
  return `${of},"p":${quote(pool)},"l":${encodeTexts(labels)}${by}${needs}`;
}

function encodeRequestFacts(facts: RequestFacts | undefined, firstMs: number): string {
  if (!facts) return '';
  const { createdMs, labels, requestor, tenant, relativePriority, provider } = facts;
  let text = createdMs === undefined ? '' : `,"c":${createdMs - firstMs}`;
  text += `,"l":${encodeTexts(labels)},"q":${requestor === null ? 'null' : quote(requestor)}`;
  if (tenant !== null) text += `,"x":${quote(tenant)}`;
  if (relativePriority) text += `,"y":${relativePriority}`;
  return typeof provider === 'string' ? `${text},"v":${quote(provider)}` : text;
}

function encodeEvents(events: readonly PastEvent[], firstMs: number): string {
  let all = '';
  let before: PastEvent | undefined;
  for (const event of events) {
    const { timeMs, what, pool, rule, text } = event;
    if (before !== undefined) all += ',';
    all += `[${timeMs - firstMs},${quote(LETTERS[what] + rule)}`;
    if (pool !== '' || text !== '')
      all += pool === '' ? ',0' : pool === before?.pool ? `,${SAME_POOL}` : `,${quote(pool)}`;
    all += text === '' ? ']' : `,${quote(text)}]`;
    before = event;
  }
  return all;
}

function encodeTexts(texts: readonly string[]): string {
  return `[${texts.map(quote).join(',')}]`;
}

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Decodes a line. @returns `undefined` if it is invalid, for example cut off by a full disk */
export function decodeLine(line: string, baseMs: number): PastLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { s, t, n, r, c, l, q, x, y, v, p, z, e } = value as JsonObject;
  if (typeof t !== 'number') return undefined;
  const firstMs = baseMs + t;
  if (s === 'alive' || s === 'stop') return { kind: 'alive', timeMs: firstMs, what: s };
  const events = decodeEvents(Array.isArray(e) ? e : [], firstMs);
  const labels = (Array.isArray(l) ? l : []).map(String);
  if (typeof n === 'string') {
    const facts = {
      request: textOf(r),
      labels,
      pool: textOf(p) ?? '',
      ...(typeof x === 'string' && { tenant: x }),
      ...(z !== undefined && { resources: numbersOf(z) }),
    };
    return { kind: 'node', id: n, facts, isFirst: p !== undefined, events };
  }
  if (typeof r !== 'string') return undefined;
  if (l === undefined) return { kind: 'request', id: r, events };
  const createdMs = typeof c === 'number' ? firstMs + c : undefined;
  return {
    kind: 'request',
    id: r,
    facts: {
      ...{ createdMs, labels, requestor: textOf(q) ?? null, tenant: textOf(x) ?? null },
      ...(typeof y === 'number' && { relativePriority: y }),
      ...(typeof v === 'string' && { provider: v }),
    },
    events,
  };
}

function decodeEvents(events: readonly unknown[], firstMs: number): PastEvent[] {
  const decoded: PastEvent[] = [];
  let lastPool = '';
  for (const event of events) {
    if (!Array.isArray(event)) continue;
    const [dt, code, where, text] = event as unknown[];
    const what = typeof code === 'string' ? NAMES.get(code.charAt(0)) : undefined;
    if (typeof dt !== 'number' || typeof code !== 'string' || what === undefined) continue;
    lastPool = where === SAME_POOL ? lastPool : (textOf(where) ?? '');
    decoded.push(pastEvent(firstMs + dt, what, lastPool, code.slice(1), textOf(text)));
  }
  return decoded;
}

function numbersOf(value: unknown): Resources {
  const entries = Object.entries(Object(value) as Record<string, unknown>);
  return Object.fromEntries(entries.filter((each): each is [string, number] => typeof each[1] === 'number'));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
