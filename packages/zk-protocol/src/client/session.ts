import type { Connection } from './dial.js';

/** The session as a server has granted it; without one, its id is 0. */
export class Session {
  id: Buffer = Buffer.alloc(8);
  password: Buffer = Buffer.alloc(16);
  /** Counts sessions. */
  epoch = 0;

  constructor(public timeoutMs: number) {}

  /** Whether there is a session that a server may still know. */
  get exists(): boolean {
    return this.id.some((byte) => byte !== 0);
  }

  /** Takes over what a server has granted. @returns whether the session is a new one */
  adopt({ sessionId, password, sessionTimeoutMs }: Connection): boolean {
    const isNew = !sessionId.equals(this.id);
    this.id = sessionId;
    this.password = password;
    this.timeoutMs = sessionTimeoutMs;
    if (isNew) this.epoch += 1;
    return isNew;
  }

  /** The session is over: the next connection asks for a new one. */
  forget(): void {
    this.id = Buffer.alloc(8);
    this.password = Buffer.alloc(16);
  }
}
