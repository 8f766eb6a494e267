import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import type { AuthContext, Connection, ParsedKey, ServerChannel } from 'ssh2';

/** A key pair that works: sometimes ssh2 makes one that it cannot read back. */
export function newKey(): { private: string; public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
    const key = ssh2.utils.parseKey(pair.private);
    if (!(key instanceof Error) && key.verify('x', key.sign('x')) === true) return pair;
  }
}

const publicOf = (key: { readonly public: string }) => key.public.split(' ').slice(0, 2).join(' ');

/**
 * An SSH server on loopback, in this process. Commands run in a shell as the user of this process, with a directory as home. The
 * launcher's key may log in, and the keys in `.ssh/authorized_keys` there.
 */
export class SshHost {
  readonly launcherKey = newKey();
  /** Shell of the user. */
  shell: readonly string[] = ['sh'];
  /** Whether the launcher's key may log in. */
  acceptsLauncher = true;
  /** Called at each login. */
  onLogin: () => void = () => {};
  /** Logins so far. */
  logins = 0;
  /** Gets the input of the next command, see {@link holdInput}. */
  #holdsInput: ((release: () => Promise<void>) => void) | undefined;
  #hostKey = newKey();
  readonly #home: string;
  readonly #sockets = new Set<Socket>();
  #tcp: TcpServer | undefined;
  #port = 0;

  private constructor(home: string) {
    this.#home = home;
  }

  static async start(home: string): Promise<SshHost> {
    const host = new SshHost(home);
    await host.listen();
    return host;
  }

  /** How the launcher logs in. */
  get login() {
    const privateKey = Buffer.from(this.launcherKey.private);
    return { host: '127.0.0.1', port: this.#port, username: 'ci', hostKeys: [publicOf(this.#hostKey)], privateKey };
  }

  /** Listens, again on the same port. */
  async listen(): Promise<void> {
    const server = new ssh2.Server({ hostKeys: [this.#hostKey.private] }, (connection) => this.#serve(connection));
    this.#tcp = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      server.injectSocket(socket);
    });
    await new Promise<void>((resolve) => this.#tcp?.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#tcp.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => (this.#tcp ? this.#tcp.close(resolve) : resolve(undefined)));
    this.#tcp = undefined;
  }

  /**
   * Holds back the input of the next command, as a slow network does.
   * @returns resolves when the input has been sent, to a function that delivers it and resolves when the command has ended
   */
  holdInput(): Promise<() => Promise<void>> {
    return new Promise((resolve) => (this.#holdsInput = resolve));
  }

  /** Restarts with another host key, as after a reinstallation. */
  async restartWithOtherKey(): Promise<void> {
    await this.stop();
    this.#hostKey = newKey();
    await this.listen();
  }

  #serve(connection: Connection): void {
    connection.on('error', () => {});
    connection.on('authentication', (context) => void this.#authenticate(context));
    connection.on('session', (accept) => {
      const session = accept();
      session.on('exec', (acceptExec, _reject, { command }) => this.#exec(acceptExec(), command));
    });
  }

  async #authenticate(context: AuthContext): Promise<void> {
    if (context.method !== 'publickey') return context.reject(['publickey']);
    const { key, signature, blob, hashAlgo } = context;
    const allowed = (await this.#allowed()).find((each) => each.getPublicSSH().equals(key.data));
    if (!allowed || (signature && allowed.verify(blob ?? Buffer.alloc(0), signature, hashAlgo) !== true)) {
      return context.reject(['publickey']);
    }
    if (signature) {
      this.logins++;
      this.onLogin();
    }
    context.accept();
  }

  async #allowed(): Promise<ParsedKey[]> {
    const file = join(this.#home, '.ssh', 'authorized_keys');
    const lines = (await readFile(file, 'latin1').catch(() => '')).split('\n').map((line) => line.trim());
    if (this.acceptsLauncher) lines.push(this.launcherKey.public);
    return lines.flatMap((line) => {
      const parsed = ssh2.utils.parseKey(line);
      return parsed instanceof Error ? [] : [parsed];
    });
  }

  #exec(channel: ServerChannel, command: string): void {
    const [program = 'sh', ...args] = this.shell;
    const child = spawn(program, [...args, '-c', command], {
      cwd: this.#home,
      env: { PATH: process.env['PATH'], HOME: this.#home },
    });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const hold = this.#holdsInput;
    this.#holdsInput = undefined;
    const deliver = () => {
      channel.pipe(child.stdin);
      return ended;
    };
    if (hold) channel.once('readable', () => hold(deliver));
    else void deliver();
    child.stdin.on('error', () => {});
    child.stdout.pipe(channel, { end: false });
    child.stderr.pipe(channel.stderr, { end: false });
    child.once('close', (code) => {
      channel.exit(code ?? 1);
      channel.end();
    });
  }
}
