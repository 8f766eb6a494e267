import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ServerProcess } from './child-process.js';
import { until } from './ports.js';

const JAVA_DIR = '/usr/share/java';
const NETTY = ['buffer', 'codec', 'common', 'handler', 'resolver', 'transport', 'transport-native-epoll'];

// Debian's zookeeper.jar references most of its jars, but no logging back end and not all parts of Netty for TLS.
const CLASS_PATH = [
  'zookeeper',
  'slf4j-simple',
  ...NETTY.map((part) => `netty-${part}`),
  'netty-transport-native-unix-common',
]
  .map((jar) => `${JAVA_DIR}/${jar}.jar`)
  .join(':');

/** Whether a server accepts connections on a port. */
async function listens(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Sends a four-letter word. @returns the reply; empty if the server is not serving */
export async function fourLetterWord(port: number, word: string, host = '127.0.0.1'): Promise<string> {
  const socket = connect({ port, host });
  socket.setTimeout(3000, () => socket.destroy());
  socket.setEncoding('utf8');
  let answer = '';
  socket.on('data', (text: string) => (answer += text));
  socket.on('error', () => undefined); // the caller gets an empty reply
  socket.once('connect', () => socket.write(word));
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

/** One ZooKeeper server process and its directory. */
export class ZooKeeperServer {
  readonly host = '127.0.0.1';
  #process: ServerProcess | undefined;

  /**
   * @param port - port of sessions
   * @param plainPort - port of four-letter words; the same as `port` without TLS
   */
  constructor(
    readonly dir: string,
    readonly port: number,
    readonly plainPort: number,
    private readonly javaOptions: readonly string[],
  ) {}

  /** Id of the process; 0 if it is not running. */
  get pid(): number {
    return this.#process?.isRunning ? this.#process.pid : 0;
  }

  /** Log since its last start. */
  get log(): string {
    return this.#process?.output ?? '';
  }

  async writeConfig(config: string, myId: number): Promise<void> {
    await mkdir(join(this.dir, 'data'), { recursive: true });
    await writeFile(join(this.dir, 'zoo.cfg'), config);
    await writeFile(join(this.dir, 'data', 'myid'), `${myId}\n`);
  }

  /** Starts the process, unless it is running. Does not wait until it serves. */
  launch(): void {
    if (this.#process?.isRunning) return;
    this.#process = ServerProcess.start('java', [
      ...['-Xmx256m', '-Xms32m', '-XX:+UseSerialGC', '-XX:-UsePerfData', '-XX:TieredStopAtLevel=1', '-Xshare:auto'],
      ...['-Djava.net.preferIPv4Stack=true', '-Dzookeeper.jmx.log4j.disable=true'],
      '-Dzookeeper.extendedTypesEnabled=true',
      ...['-Dorg.slf4j.simpleLogger.defaultLogLevel=info', '-Dorg.slf4j.simpleLogger.showDateTime=true'],
      ...this.javaOptions,
      ...['-cp', CLASS_PATH, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', join(this.dir, 'zoo.cfg')],
    ]);
  }

  /**
   * Waits until this server serves. Checks its data directory, as another program may hold the port.
   * @throws {Error} it ended or did not serve in time; with the end of its log
   */
  async waitUntilServing(): Promise<void> {
    const failure = (): string => `ZooKeeper on port ${this.port} did not start:\n${this.log.slice(-2000)}`;
    const probe = async (): Promise<boolean> => {
      if (!this.#process?.isRunning) throw new Error(failure());
      return (await this.fourLetter('conf')).includes(`dataDir=${join(this.dir, 'data')}`);
    };
    await until(probe, failure);
    if (this.port !== this.plainPort) await until(() => listens(this.port), failure); // TLS: bound after the plain one
  }

  fourLetter(word: string): Promise<string> {
    return fourLetterWord(this.plainPort, word);
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.signal(name);
  }

  async kill(): Promise<void> {
    await this.#process?.kill('SIGKILL');
  }
}
