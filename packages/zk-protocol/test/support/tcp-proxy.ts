import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

/** A TCP proxy that can misbehave like a network. */
export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();
  #target: { host: string; port: number };
  #isBlackhole = false;
  #isRefusing = false;
  #cutAfter: number | undefined;
  #delayMs = 0;
  /** Connections accepted so far. */
  accepted = 0;
  /** Bytes clients sent so far, in order of arrival. */
  readonly fromClients: Buffer[] = [];

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
    this.#server = createServer((client) => this.#onClient(client));
  }

  static async start(target: { host: string; port: number }): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connectString(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** From now on: bytes vanish in both directions, new connections are accepted and never answered. */
  blackhole(): void {
    this.#isBlackhole = true;
  }

  /** New connections are closed at once; those open are cut. */
  refuse(): void {
    this.#isRefusing = true;
    this.cut();
  }

  /** Ends `blackhole` and `refuse` for new connections; what was swallowed stays lost, so old ones are cut. */
  heal(): void {
    this.cut();
    this.#isBlackhole = false;
    this.#isRefusing = false;
  }

  /** Closes all connections. */
  cut(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.#pairs.clear();
  }

  /** The next connection is cut when this many bytes have gone to the client. */
  cutNextAfter(bytes: number): void {
    this.#cutAfter = bytes;
  }

  /** Answers reach the client this much later. */
  delayAnswers(ms: number): void {
    this.#delayMs = ms;
  }

  retarget(target: { host: string; port: number }): void {
    this.#target = target;
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #onClient(client: Socket): void {
    this.accepted += 1;
    client.on('error', () => {}); // the other side may be gone: that is what this proxy is for
    if (this.#isRefusing) {
      client.destroy();
      return;
    }
    const upstream = connect(this.#target);
    upstream.on('error', () => client.destroy());
    const pair = { client, upstream };
    this.#pairs.add(pair);
    let budget = this.#cutAfter ?? Infinity;
    this.#cutAfter = undefined;
    client.on('data', (chunk: Buffer) => {
      this.fromClients.push(chunk);
      if (!this.#isBlackhole) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (this.#isBlackhole) return;
      const passed = chunk.subarray(0, budget);
      budget -= passed.length;
      const forward = () => {
        if (budget <= 0) client.end(passed);
        else client.write(passed);
      };
      if (this.#delayMs > 0) setTimeout(forward, this.#delayMs);
      else forward();
    });
    client.on('close', () => {
      this.#pairs.delete(pair);
      upstream.destroy();
    });
    upstream.on('close', () => {
      if (!this.#isBlackhole) client.end();
    });
  }
}
