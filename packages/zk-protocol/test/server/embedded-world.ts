import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedServerOptions, startEmbeddedServer } from '../../src/server/index.js';
import type { RunningServer } from '../../src/server/start.js';
import { onTestEnd } from '../support/clients.js';
import { RawClient } from './raw-client.js';

/** An embedded server on a data directory of its own, and its clients. All end with the test. */
export class EmbeddedWorld {
  #server: RunningServer | undefined;

  get server(): RunningServer {
    if (this.#server === undefined) throw new Error('the server has not been started');
    return this.#server;
  }

  async start(options: Partial<EmbeddedServerOptions> = {}): Promise<RunningServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'nodepool-embedded-'));
    onTestEnd(() => rm(dataDir, { recursive: true }));
    const server = (await startEmbeddedServer({ dataDir, ...options })) as RunningServer;
    onTestEnd(() => server.close());
    this.#server = server;
    return server;
  }

  /** Connects a client and asks for a session. */
  async open(): Promise<RawClient> {
    const client = await RawClient.open(this.server.port, { timeoutMs: 30_000 });
    onTestEnd(() => client.drop());
    return client;
  }

  /** The reply to a four-letter word. */
  async fourLetters(word: string): Promise<string> {
    const socket = connect(this.server.port, '127.0.0.1');
    socket.end(word);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    await once(socket, 'close');
    return Buffer.concat(chunks).toString();
  }
}
