import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureDebianPackages } from './debian-packages.js';
import { freePorts, until } from './ports.js';
import { makeTlsFiles, type TlsFiles } from './tls-files.js';
import { type ServerPorts, zooCfg, type ZooKeeperOptions } from './zookeeper-config.js';
import { ZooKeeperServer } from './zookeeper-server.js';

/** One running server. */
export interface ZooKeeperServerInfo {
  readonly host: string;
  /** Port of sessions, with TLS if it is enabled. */
  readonly port: number;
  /** Port of four-letter words, always without TLS. */
  readonly plainPort: number;
  /** Directory with its `data`. */
  readonly dir: string;
  /** 0 if it is not running. */
  readonly pid: number;
  /** Log since its last start. */
  readonly log: string;
}

/** Running ZooKeeper servers, numbered from 0. The default number is 0 unless stated otherwise. */
export interface ZooKeeperHandle {
  /** `host:port` of all servers, separated by commas. */
  readonly connectString: string;
  readonly servers: readonly ZooKeeperServerInfo[];
  /** First server's port without TLS. */
  readonly plainPort: number;
  /** Undefined without TLS. */
  readonly tlsFiles: TlsFiles | undefined;
  /** Answer to a four-letter word; empty when the server does not answer. */
  fourLetter(word: string, server?: number): Promise<string>;
  /** Waits for a leader and returns its number; 0 for a single server. */
  leader(): Promise<number>;
  /** SIGKILL. Resolves once the process is gone. */
  kill(server?: number): Promise<void>;
  /** Kills the server if it runs, and starts it on the same data. Resolves once it serves. */
  restart(server?: number): Promise<void>;
  /** SIGSTOP: the server keeps its connections and does not respond. */
  pause(server?: number): void;
  /** SIGCONT. */
  resume(server?: number): void;
  /** Ends all servers and deletes their data. Safe to repeat. */
  stop(): Promise<void>;
}

class Handle implements ZooKeeperHandle {
  constructor(
    readonly dir: string,
    readonly servers: readonly ZooKeeperServer[],
    readonly tlsFiles: TlsFiles | undefined,
  ) {}

  get connectString(): string {
    return this.servers.map(({ host, port }) => `${host}:${port}`).join(',');
  }

  get plainPort(): number {
    return this.#server(0).plainPort;
  }

  #server(index: number): ZooKeeperServer {
    const server = this.servers[index];
    if (server === undefined) throw new Error(`no ZooKeeper server ${index}: there are ${this.servers.length}`);
    return server;
  }

  fourLetter(word: string, server = 0): Promise<string> {
    return this.#server(server).fourLetter(word);
  }

  async leader(): Promise<number> {
    let found = -1;
    const probe = async (): Promise<boolean> => {
      const answers = await Promise.all(this.servers.map((server) => server.fourLetter('srvr')));
      found = answers.findIndex((answer) => /^Mode: (leader|standalone)$/m.test(answer));
      return found >= 0;
    };
    await until(probe, () => `no leader among ${this.connectString}`);
    return found;
  }

  async kill(server = 0): Promise<void> {
    await this.#server(server).kill();
  }

  async restart(index = 0): Promise<void> {
    const server = this.#server(index);
    await server.kill();
    server.launch();
    await server.waitUntilServing();
  }

  pause(server = 0): void {
    this.#server(server).signal('SIGSTOP');
  }

  resume(server = 0): void {
    this.#server(server).signal('SIGCONT');
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    await rm(this.dir, { recursive: true, force: true });
  }
}

async function choosePorts(count: number, tls: boolean): Promise<ServerPorts[]> {
  const ports = await freePorts(count * 4);
  const next = (): number => {
    const port = ports.pop();
    if (port === undefined) throw new Error('too few ports were chosen');
    return port;
  };
  return Array.from({ length: count }, () => ({
    client: next(),
    secure: tls ? next() : undefined,
    quorum: next(),
    election: next(),
  }));
}

async function startOnce(options: ZooKeeperOptions): Promise<Handle> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-zookeeper-'));
  const tlsFiles = options.tls ? await makeTlsFiles(join(dir, 'tls')) : undefined;
  const ports = await choosePorts(options.ensemble ? 3 : 1, options.tls ?? false);
  const servers = ports.map(
    ({ client, secure }, i) =>
      new ZooKeeperServer(join(dir, String(i)), secure ?? client, client, options.javaOptions ?? []),
  );
  const handle = new Handle(dir, servers, tlsFiles);
  try {
    for (const [i, server] of servers.entries()) {
      await server.writeConfig(zooCfg(options, join(server.dir, 'data'), ports, i, tlsFiles), i + 1);
      server.launch();
    }
    await Promise.all(servers.map((server) => server.waitUntilServing()));
    return handle;
  } catch (error) {
    await handle.stop();
    throw error;
  }
}

/**
 * Starts real ZooKeeper servers on free loopback ports, with their data in a temporary directory. They end with the
 * test process at the latest.
 * @throws {Error} ZooKeeper cannot be installed or does not start; with the end of its log
 */
export async function startZooKeeper(options: ZooKeeperOptions = {}): Promise<ZooKeeperHandle> {
  await ensureDebianPackages(['zookeeper', ...(options.tls ? ['openssl'] : [])]);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      // another program may have taken a port since it was found free
      if (attempt === 3 || !String(error).includes('Address already in use')) throw error;
    }
  }
}
