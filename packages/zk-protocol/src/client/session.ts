import type { Connection } from './dial.js';

/** The granted session; its id is 0 without one. */
export class Session {
  id: Buffer = Buffer.alloc(8);
  password: Buffer = Buffer.alloc(16);
  /** Number of sessions so far. */
  epoch = 0;

  constructor(public timeoutMs: number) {}

  /** Whether there is a session that may be resumed. */
  get exists(): boolean {
    return this.id.some((byte) => byte !== 0);
  }

  /** Why a reply does not grant what was asked for: this session, or a new one if there is none; `undefined`: it does. */
  refusalIn({ sessionId, sessionTimeoutMs }: Connection): string | undefined {
    const isGranted = sessionTimeoutMs > 0;
    if (!this.exists)
      return isGranted && sessionId.some((byte) => byte !== 0) ? undefined : 'the server rejected a new session';
    if (!isGranted) return 'the server reports that it ended';
    return sessionId.equals(this.id) ? undefined : 'the server answered with another session';
  }

  /** Stores a granted session. @returns whether it is a new one */
  adopt({ sessionId, password, sessionTimeoutMs }: Connection): boolean {
    const isNew = !sessionId.equals(this.id);
    this.id = sessionId;
    this.password = password;
    this.timeoutMs = sessionTimeoutMs;
    if (isNew) this.epoch += 1;
    return isNew;
  }

  /** Drops an ended session; the next connection requests a new one. */
  forget(): void {
    this.id = Buffer.alloc(8);
    this.password = Buffer.alloc(16);
  }
}
