import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const PING = 11;
const CLOSE_SESSION = -11;
/** Bytes of the answer to who continues a session. */
const ATTACH_ANSWER = 41;

function framed(...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/**
 * Fate of the awaited packet: it is forwarded; the connection breaks before it arrives; or it arrives and the connection
 * breaks before the answer does.
 */
export type Verdict = 'forward' | 'cut' | 'lose-answer';

/** What a client needs to continue a session. */
interface SessionKey {
  readonly id: Buffer;
  readonly password: Buffer;
}

interface Trap {
  /** Packets still to let through. */
  remaining: number;
  action: () => Promise<Verdict> | Verdict;
  fired: boolean;
}

/**
 * Stands between one ZooKeeper client and its server and knows where packets begin. A test can have something happen
 * right before the client's n-th packet reaches the server, which makes races repeatable.
 */
export class FrameProxy {
  #trap: Trap | undefined;
  #session: SessionKey | undefined;
  /** New connections go on when it is kept. */
  #gate: Promise<void> = Promise.resolve();
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (client) => this.#serve(client));
  }

  /** Starts a proxy on a loopback port. @param port - default: a free one */
  static async start(targetPort: number, port = 0): Promise<FrameProxy> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new FrameProxy(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /**
   * Has `action` run right before the n-th packet from now (1: the next) goes to the server; that packet and all after
   * it wait for the action. Pings do not count. Replaces an earlier trap.
   */
  trap(n: number, action: () => Promise<Verdict> | Verdict): void {
    this.#trap = { remaining: n, action, fired: false };
  }

  /** Number of packets before the trapped one. */
  get remaining(): number {
    return this.#trap?.remaining ?? 0;
  }

  /** Whether the trapped packet has arrived. */
  get hasFired(): boolean {
    return this.#trap?.fired ?? false;
  }

  /**
   * Ends the session made through this proxy last, at the server, as if it had expired. The server hangs up on the client,
   * which comes back at once and would take the session with it: it is let through when the session is over.
   */
  expireSession(): Promise<void> {
    const ended = this.#endSession();
    this.#gate = ended.catch(() => undefined);
    return ended;
  }

  async #endSession(): Promise<void> {
    if (this.#session === undefined) throw new Error('no session has been made through the proxy');
    const { id, password } = this.#session;
    const socket = connect({ port: this.targetPort, host: '127.0.0.1' });
    await once(socket, 'connect');
    const [passwordLength, timeout] = [Buffer.alloc(4), Buffer.alloc(4)];
    passwordLength.writeInt32BE(password.length);
    timeout.writeInt32BE(10_000);
    const close = Buffer.alloc(8);
    close.writeInt32BE(1);
    close.writeInt32BE(CLOSE_SESSION, 4);
    // protocol version, last zxid, session timeout, session, password, read-only; the end of the session right behind
    const attach = framed(Buffer.alloc(4 + 8), timeout, id, passwordLength, password, Buffer.alloc(1));
    socket.write(Buffer.concat([attach, framed(close)]));
    let answered = 0;
    socket.on('data', (data: Buffer) => (answered += data.length));
    await once(socket, 'close'); // by the server, when the session is over
    if (answered <= ATTACH_ANSWER) throw new Error('the server did not end the session');
  }

  /** Ends all connections, and refuses new ones. Safe to repeat. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }

  #serve(client: Socket): void {
    const server = connect({ port: this.targetPort, host: '127.0.0.1' });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy()); // the other side sees it closed, as it would without a proxy
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.end(); // what was forwarded still arrives
      });
    }
    server.once('data', (answer: Buffer) => {
      // length, protocol version, session timeout, session, length of the password, password
      const length = answer.readInt32BE(20);
      this.#session = { id: answer.subarray(12, 20), password: answer.subarray(24, 24 + length) };
    });
    server.pipe(client);
    let received: Buffer = Buffer.alloc(0);
    let isFirst = true;
    let queue = this.#gate;
    client.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const frame = received.subarray(0, 4 + received.readInt32BE(0));
        received = received.subarray(frame.length);
        const isPing = !isFirst && frame.readInt32BE(8) === PING;
        isFirst = false;
        queue = queue.then(async () => {
          if (client.destroyed || server.destroyed) return;
          const verdict = isPing ? 'forward' : await this.#judge();
          if (verdict === 'lose-answer') server.unpipe(client).resume();
          if (verdict !== 'cut') server.write(frame);
          if (verdict !== 'forward') client.destroy();
        });
      }
    });
  }

  async #judge(): Promise<Verdict> {
    const trap = this.#trap;
    if (trap === undefined || trap.fired) return 'forward';
    trap.remaining -= 1;
    if (trap.remaining > 0) return 'forward';
    trap.fired = true;
    return trap.action();
  }
}
