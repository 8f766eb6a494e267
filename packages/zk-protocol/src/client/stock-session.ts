import stock from 'node-zookeeper-client';
import ConnectionManager from 'node-zookeeper-client/lib/ConnectionManager.js';
import type { Connection } from './dial.js';

/** What the package's client shell sees of a connection manager: the session, and nothing of how it is kept. */
export abstract class StockSession extends ConnectionManager {
  /** Counts sessions. */
  sessionEpoch = 0;

  /** @param onState - receives the package's state numbers */
  constructor(sessionTimeoutMs: number, onState: (state: number) => void) {
    // The list given to the base class is never used: it cannot parse IPv6 and shuffles once for all time.
    super('unused:2181', { sessionTimeout: sessionTimeoutMs, spinDelay: 0 }, onState);
  }

  /** Ends the session. */
  abstract closeSession(): Promise<void>;

  /** See {@link closeSession}. */
  override close(): void {
    void this.closeSession();
  }

  /** The package's own requests are not supported: they would bypass the codec. */
  override queue(_request: object, callback?: (error: Error) => void): void {
    callback?.(stock.Exception.create(stock.Exception.UNIMPLEMENTED));
  }

  /** Nothing ever stands in the base class's queue. */
  override onPacketQueueReadable(): void {}

  /** Whether there is a session that a server may still know. */
  protected get hasSession(): boolean {
    return this.sessionId.some((byte) => byte !== 0);
  }

  /** Takes over what a server has granted. @returns whether the session is a new one */
  protected adoptSession({ sessionId, password, sessionTimeoutMs }: Connection): boolean {
    const isNew = !sessionId.equals(this.sessionId);
    this.sessionId = sessionId;
    this.sessionPassword = password;
    this.sessionTimeout = sessionTimeoutMs;
    if (isNew) this.sessionEpoch += 1;
    return isNew;
  }

  /** The session is over: the next connection asks for a new one. */
  protected forgetSession(): void {
    this.sessionId = Buffer.alloc(8);
    this.sessionPassword = Buffer.alloc(16);
  }
}
