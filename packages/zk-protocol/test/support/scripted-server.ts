import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

/** One request as a {@link ScriptedServer} got it. */
export interface ScriptedRequest {
  readonly xid: number;
  readonly opCode: number;
  readonly body: Buffer;
  readonly connection: ScriptedConnection;
}

/** A ZooKeeper server that does what the test says. Pings are answered unless `answersPings` is false. */
export class ScriptedServer {
  readonly #server: Server;
  readonly #onRequest: (request: ScriptedRequest) => void;
  readonly connections: ScriptedConnection[] = [];
  /** Requests except pings, in order. */
  readonly requests: ScriptedRequest[] = [];
  pings = 0;
  answersPings = true;
  /** False: accepts connections and stays silent. */
  answersHandshake = true;
  /** Session timeout to grant; 0 says the session is over. */
  grantMs: number;
  /** False: answers a client that resumes its session with a new one. */
  resumesSessions = true;

  private constructor(grantMs: number, onRequest: (request: ScriptedRequest) => void) {
    this.grantMs = grantMs;
    this.#onRequest = onRequest;
    this.#server = createServer((socket) => {
      this.connections.push(new ScriptedConnection(this, socket));
    });
  }

  static async start(
    grantMs: number,
    onRequest: (request: ScriptedRequest) => void = () => {},
  ): Promise<ScriptedServer> {
    const server = new ScriptedServer(grantMs, onRequest);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connectString(): string {
    return `127.0.0.1:${this.port}`;
  }

  take(request: ScriptedRequest): void {
    if (request.opCode === 11) {
      this.pings += 1;
      if (this.answersPings) request.connection.reply(request.xid);
      return;
    }
    this.requests.push(request);
    if (request.opCode === -11) request.connection.reply(request.xid);
    else this.#onRequest(request);
  }

  async stop(): Promise<void> {
    for (const connection of this.connections) connection.socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** One client's connection. */
export class ScriptedConnection {
  #received = Buffer.alloc(0);
  #isGreeted = false;
  /** Session id the client asked for; all zero: a new one. */
  requestedSession = Buffer.alloc(0);
  #corked: Buffer[] | undefined;

  constructor(
    readonly server: ScriptedServer,
    readonly socket: Socket,
  ) {
    socket.on('error', () => {}); // clients under test hang up in every way
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
  }

  /** Collects replies and events made by `act` and sends them as one chunk. */
  inOneChunk(act: () => void): void {
    this.#corked = [];
    act();
    const all = Buffer.concat(this.#corked);
    this.#corked = undefined;
    this.socket.write(all);
  }

  reply(xid: number, errorCode = 0, body = Buffer.alloc(0), zxid = 1n): void {
    const header = Buffer.alloc(16);
    header.writeInt32BE(xid, 0);
    header.writeBigInt64BE(zxid, 4);
    header.writeInt32BE(errorCode, 12);
    this.frame(Buffer.concat([header, body]));
  }

  /** Types: 1 created, 2 deleted, 3 changed, 4 children. */
  event(type: number, path: string): void {
    const body = Buffer.alloc(8);
    body.writeInt32BE(type, 0);
    body.writeInt32BE(3, 4);
    this.reply(-1, 0, Buffer.concat([body, jute(path)]), -1n);
  }

  frame(content: Buffer): void {
    this.raw(jute(content));
  }

  raw(bytes: Buffer): void {
    if (this.#corked === undefined) this.socket.write(bytes);
    else this.#corked.push(bytes);
  }

  #onData(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 4) {
      const length = this.#received.readInt32BE(0);
      if (this.#received.length < length + 4) return;
      const frame = this.#received.subarray(4, length + 4);
      this.#received = this.#received.subarray(length + 4);
      this.#onFrame(frame);
    }
  }

  #onFrame(frame: Buffer): void {
    if (!this.#isGreeted) {
      this.#isGreeted = true;
      this.requestedSession = Buffer.from(frame.subarray(16, 24));
      if (this.server.answersHandshake) this.#greet();
      return;
    }
    this.server.take({
      xid: frame.readInt32BE(0),
      opCode: frame.readInt32BE(4),
      body: frame.subarray(8),
      connection: this,
    });
  }

  #greet(): void {
    const isNew = !this.server.resumesSessions || this.requestedSession.equals(Buffer.alloc(8));
    const answer = Buffer.alloc(37);
    answer.writeInt32BE(this.server.grantMs, 4);
    if (isNew) answer.writeBigInt64BE(BigInt(this.server.connections.length), 8);
    else this.requestedSession.copy(answer, 8);
    answer.writeInt32BE(16, 16);
    this.frame(answer);
  }
}

/** A string or bytes with the length in front. */
export function jute(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
