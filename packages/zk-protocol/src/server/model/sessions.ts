import type { ModelConnection } from './connection.js';

/** A session as its client knows it. */
export interface OfferedSession {
  readonly id: bigint;
  readonly timeoutMs: number;
  /** 16 bytes by which a reconnecting client proves its session. */
  readonly password: Buffer;
}

/** A client's session. */
export interface Session extends OfferedSession {
  /** Steady time of its end if the client stays silent. */
  expiresAtMs: number;
  connection: ModelConnection | undefined;
}

/** The open sessions and their deadlines. */
export class SessionTable {
  private readonly sessions = new Map<bigint, Session>();
  /** Largest id given out. */
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

  /** A new id. */
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

  /** Earliest deadline of a session; `undefined` without sessions. */
  nextExpiryMs(): number | undefined {
    let next: number | undefined;
    for (const { expiresAtMs } of this.sessions.values()) {
      if (next === undefined || expiresAtMs < next) next = expiresAtMs;
    }
    this.earliestMs = next ?? Infinity;
    return next;
  }

  /** Expired sessions, the longest overdue first. */
  expired(nowMs: number): Session[] {
    return [...this.sessions.values()]
      .filter((session) => session.expiresAtMs <= nowMs)
      .sort((a, b) => a.expiresAtMs - b.expiresAtMs || (a.id < b.id ? -1 : 1));
  }

  /** Extends all sessions by a pause of the process, at most to their full timeout from now. */
  prolong(ms: number, nowMs: number): void {
    for (const session of this.sessions.values()) {
      session.expiresAtMs = Math.min(session.expiresAtMs + Math.ceil(ms), nowMs + session.timeoutMs);
    }
  }

  /** Gives all sessions their full timeout from now, after the server was down. */
  restart(nowMs: number): void {
    for (const session of this.sessions.values()) session.expiresAtMs = nowMs + session.timeoutMs;
  }
}
