import type { Fields, Message } from './decode.js';
import { RawClient, type RawRequest, type SessionCredentials } from './raw-client.js';

const SESSION_TIMEOUT_MS = 60_000;
const SHORT_TIMEOUT_MS = 1000;
const OPCODE_SYNC = 9;

/** One of the two servers, with the same sessions open on it as on the other. */
export class Side {
  private readonly clients: RawClient[] = [];
  private readonly sessionNames = new Map<bigint, string>();
  private baseZxid = 0;

  constructor(
    readonly name: string,
    private readonly port: number,
  ) {}

  /** Opens the sessions. What the server did before is not compared. */
  async start(slots: number): Promise<void> {
    for (let slot = 0; slot < slots; slot++) await this.openSession(slot);
    await this.barrier();
    const [first] = this.client(0).takeMessages();
    if (first === undefined) throw new Error(`${this.name} did not answer`);
    this.baseZxid = first.zxid;
    this.takeMessages();
  }

  stop(): void {
    for (const client of this.clients) client.drop();
  }

  client(slot: number): RawClient {
    const client = this.clients[slot];
    if (client === undefined) throw new Error(`no session ${slot}`);
    return client;
  }

  absoluteZxid(relative: number): number {
    return this.baseZxid + relative;
  }

  async openSession(slot: number, { isShort = false } = {}): Promise<void> {
    const client = await RawClient.open(this.port, { timeoutMs: isShort ? SHORT_TIMEOUT_MS : SESSION_TIMEOUT_MS });
    this.sessionNames.set(client.session.id, `session ${this.sessionNames.size}`);
    this.clients[slot] = client;
  }

  /** Ends the session in the orderly way. */
  async closeSession(slot: number, request: RawRequest): Promise<void> {
    const client = this.client(slot);
    await client.call(request);
    await client.until(() => client.isClosed);
  }

  /** Attaches to the slot's session, before or after its connection is cut. */
  async reattach(slot: number, { dropFirst }: { dropFirst: boolean }): Promise<void> {
    const old = this.client(slot);
    if (dropFirst) old.drop();
    const client = await this.attach(old.session);
    await old.until(() => old.isClosed);
    this.clients[slot] = client;
  }

  /** Tries to attach without knowing the password. @returns what the server said */
  async attachWrongly(slot: number): Promise<Fields> {
    const { id, timeoutMs } = this.client(slot).session;
    const client = await this.attach({ id, timeoutMs, password: Buffer.alloc(16, 1) });
    await client.until(() => client.isClosed);
    return { id: String(client.session.id), timeoutMs: client.session.timeoutMs };
  }

  /** Cuts the connection of a session with a short timeout and waits until another one sees that it is over. */
  async expire(slot: number, watcherSlot: number, probe: RawRequest): Promise<void> {
    this.client(slot).drop();
    const watcher = this.client(watcherSlot);
    for (;;) {
      const before = watcher.takeMessages();
      if (before.some(({ kind }) => kind === 'event')) throw new Error('an event came at an unexpected time');
      await watcher.call(probe);
      const messages = watcher.takeMessages();
      const answer = messages.find(({ kind }) => kind === 'reply');
      if (answer?.error !== 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Makes sure that whatever the server has to say so far has arrived. */
  async barrier(): Promise<void> {
    const sync: RawRequest = { type: OPCODE_SYNC, text: 'sync', encode: (writer) => writer.string('/') };
    await Promise.all(this.clients.map(async (client) => client.call(sync)));
  }

  /** All messages since the last time, in a form that both servers should agree on. */
  takeMessages(): Fields[][] {
    return this.clients.map((client) => client.takeMessages().map((message) => this.comparable(message)));
  }

  /** Forgets what arrived. */
  discardMessages(): void {
    for (const client of this.clients) client.takeMessages();
  }

  private attach(session: SessionCredentials): Promise<RawClient> {
    return RawClient.open(this.port, { timeoutMs: SESSION_TIMEOUT_MS, session });
  }

  private comparable({ zxid, body, ...rest }: Message): Fields {
    return { ...rest, zxid: this.relative(zxid), body: this.comparableFields(body) };
  }

  private comparableFields(fields: Fields): Fields {
    return Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, this.comparableValue(key, value, fields)]),
    );
  }

  private comparableValue(key: string, value: unknown, fields: Fields): unknown {
    if (Array.isArray(value)) {
      return value.map((item: unknown) => (isFields(item) ? this.comparableFields(item) : item));
    }
    if (isFields(value)) return this.comparableFields(value);
    if (key.endsWith('zxid') && typeof value === 'number') return this.relative(value);
    if (typeof value === 'bigint') return this.sessionNames.get(value) ?? value.toString(16);
    if (key === 'ctime') return typeof value === 'number' && value > 0;
    if (key === 'mtime' && typeof value === 'number') return Math.sign(value - Number(fields.ctime)) >= 0;
    return value;
  }

  private relative(zxid: number): number {
    return zxid > 0 ? zxid - this.baseZxid : zxid;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
