import type { ModelConnection } from './connection.js';

/** What a client knows of its session. */
export interface OfferedSession {
  readonly id: bigint;
  readonly timeoutMs: number;
  /** 16 bytes that prove a re-attaching client is the same. */
  readonly password: Buffer;
}

/** A client's session. */
export interface Session extends OfferedSession {
  /** When it ends, in steady time, unless its client is heard of. */
  expiresAtMs: number;
  connection: ModelConnection | undefined;
}

/** The live sessions and when the next of them ends. */
export class SessionTable {
  private readonly sessions = new Map<bigint, Session>();
  /** Largest id ever given out. */
  lastId = 0n;
  /** No session ends before this time. */
  earliestMs = Infinity;

  get size(): number {
    return this.sessions.size;
  }

  get(id: bigint): Session | undefined {
    return this.sessions.get(id);
  }

  values(): IterableIterator<Session> {
    return this.sessions.values();
  }

  /** @throws {Error} there is none */
  existing(id: bigint): Session {
    const session = this.sessions.get(id);
    if (session === undefined) throw new Error(`embedded ZooKeeper: session 0x${id.toString(16)} should exist`);
    return session;
  }

  /** An id that was never given out. */
  takeId(wallMs: number): bigint {
    const byTime = BigInt(wallMs) << 12n;
    this.lastId = byTime > this.lastId ? byTime : this.lastId + 1n;
    return this.lastId;
  }

  add(session: Session): void {
    this.sessions.set(session.id, session);
    if (session.id > this.lastId) this.lastId = session.id;
    this.earliestMs = Math.min(this.earliestMs, session.expiresAtMs);
  }

  remove(id: bigint): void {
    this.sessions.delete(id);
  }

  /** Time at which the next session ends if no session is heard of until then; `undefined` without sessions. */
  nextExpiryMs(): number | undefined {
    let next: number | undefined;
    for (const { expiresAtMs } of this.sessions.values()) {
      if (next === undefined || expiresAtMs < next) next = expiresAtMs;
    }
    this.earliestMs = next ?? Infinity;
    return next;
  }

  /** Sessions whose time is over, the longest overdue first. */
  expired(nowMs: number): Session[] {
    return [...this.sessions.values()]
      .filter((session) => session.expiresAtMs <= nowMs)
      .sort((a, b) => a.expiresAtMs - b.expiresAtMs || (a.id < b.id ? -1 : 1));
  }

  /** Gives every session time in which no session could be heard, but no more than its full timeout from now. */
  prolong(ms: number, nowMs: number): void {
    for (const session of this.sessions.values()) {
      session.expiresAtMs = Math.min(session.expiresAtMs + Math.ceil(ms), nowMs + session.timeoutMs);
    }
  }

  /** Gives every session its full timeout from now: no session could be heard while the server was down. */
  restart(nowMs: number): void {
    for (const session of this.sessions.values()) session.expiresAtMs = nowMs + session.timeoutMs;
  }
}
