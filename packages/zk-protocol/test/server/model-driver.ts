import type { Acl } from '../../src/client/contract/types.js';
import type { ModelConnection } from '../../src/server/model/connection.js';
import type { NodeStat, Outcome } from '../../src/server/model/replies.js';
import type { Request } from '../../src/server/model/requests.js';
import { ServerModel } from '../../src/server/model/server-model.js';
import type { Transaction } from '../../src/server/model/transactions.js';
import { statOf } from '../../src/server/model/znode.js';
import type { Random } from './random.js';

/** All permissions for everyone. */
export const OPEN: Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

/** A request to create a znode. */
export function createRequest(path: string, flags = 0, data = ''): Request {
  return { op: 'create2', path, data: Buffer.from(data), acl: OPEN, flags };
}

/** Drives a model with its own time, and keeps the transactions. */
export class ModelDriver {
  nowMs = 1_000_000;
  /** Offset of the time of day, as after setting the clock. */
  stepMs = 0;
  readonly transactions: Transaction[] = [];

  constructor(readonly model = new ServerModel()) {}

  get now(): { wallMs: number; steadyMs: number } {
    return { wallMs: this.nowMs + this.stepMs, steadyMs: this.nowMs };
  }

  /** Opens a session. */
  connect(timeoutMs = 10_000): ModelConnection {
    const connection = { sessionId: 0n, auth: [{ scheme: 'ip', id: '127.0.0.1' }] };
    const password = Buffer.alloc(16, this.transactions.length);
    const offered = this.model.offerSession({ timeoutMs, password }, this.now);
    this.keep(this.model.openSession(connection, offered, this.now));
    return connection;
  }

  /** Executes requests. @returns the outcome of the last one */
  apply(connection: ModelConnection, ...requests: Request[]): Outcome {
    let outcome: Outcome | undefined;
    for (const request of requests) outcome = this.keep(this.model.apply(connection, request, this.now));
    if (outcome === undefined) throw new Error('no request was given');
    return outcome;
  }

  /** Advances the time. */
  advance(ms: number): Outcome[] {
    this.nowMs += ms;
    return this.model.passTime(this.now).outcomes.map((outcome) => this.keep(outcome));
  }

  private keep(outcome: Outcome): Outcome {
    if (outcome.transaction !== undefined) this.transactions.push(outcome.transaction);
    return outcome;
  }
}

/** The durable content of a model, for comparisons. */
export function contentOf(model: ServerModel): unknown {
  const znodes: [string, NodeStat, string | null, unknown][] = [...model.tree.entries()].map(([path, node]) => [
    path,
    statOf(node),
    node.data?.toString('base64') ?? null,
    node.acl,
  ]);
  const sessions = [...model.sessions.values()].map(({ id, timeoutMs, password }) => ({
    id,
    timeoutMs,
    password: password.toString('hex'),
    ephemerals: [...model.tree.ephemeralsOf(id)].sort(),
  }));
  return {
    zxid: model.lastZxid,
    lastSessionId: model.lastSessionId,
    znodes: znodes.sort(([a], [b]) => (a < b ? -1 : 1)),
    sessions: sessions.sort((a, b) => (a.id < b.id ? -1 : 1)),
    containers: [...model.tree.containers()].sort(),
    ttl: [...model.tree.ttlNodes()].sort(),
  };
}

/** A random write over a small set of paths. */
export function randomWrite(random: Random): Request {
  const path = `/${random.pick(['a', 'b', 'c'])}${random.chance(0.5) ? `/${random.pick(['a', 'b', 'c'])}` : ''}`;
  const data = Buffer.alloc(random.below(200), random.below(256));
  return random.weighted<() => Request>([
    [4, () => ({ op: 'create2', path, data, acl: OPEN, flags: random.below(5) })],
    [1, () => ({ op: 'createTtl', path, data, acl: OPEN, flags: 5, ttlMs: 1_000_000 })],
    [1, () => ({ op: 'createContainer', path, data, acl: OPEN, flags: 4 })],
    [2, () => ({ op: 'delete', path, version: -1 })],
    [4, () => ({ op: 'setData', path, data, version: -1 })],
    [1, () => ({ op: 'setAcl', path, acl: [...OPEN, { permissions: 1, scheme: 'ip', id: '10.1.1.1' }], version: -1 })],
    [
      2,
      () => ({
        op: 'multi',
        parts: [
          { op: 'create', path, data, acl: OPEN, flags: 0 },
          { op: 'setData', path, data, version: 0 },
          { op: 'delete', path: `${path}/x`, version: -1 },
        ].slice(0, 1 + random.below(3)) as Extract<Request, { op: 'multi' }>['parts'],
      }),
    ],
  ])();
}
