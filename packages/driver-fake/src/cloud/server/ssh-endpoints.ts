import { spawn } from 'node:child_process';
import { timingSafeEqual } from 'node:crypto';
import { rmSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import type { AuthContext, Connection, ParsedKey, ServerChannel } from 'ssh2';
import { makeDirectorySync } from '@nodepool/zk-protocol';
import type { Endpoints } from '../model/options.js';
import type { SshSettings } from '../model/settings.js';
import type { CloudInstance } from '../model/types.js';

interface Endpoint {
  readonly tcp: TcpServer;
  readonly connections: Set<Connection>;
}

/**
 * SSH servers on loopback, one for each instance, in this process. Commands run as the user of this process, in a
 * directory of the instance, without isolation. Login requires the cloud's own key, `id_ed25519` in its directory, or a
 * key of the settings.
 */
export class SshEndpoints implements Endpoints {
  readonly #dir: string;
  readonly #endpoints = new Map<string, Endpoint>();
  #shared: KeyPair | undefined;
  #login: ParsedKey[] | undefined;

  /** @param dir - directory of the cloud, for keys and for directories of instances */
  constructor(dir: string) {
    this.#dir = dir;
  }

  async open(
    instance: CloudInstance,
    settings: SshSettings,
  ): Promise<Pick<CloudInstance, 'address' | 'port' | 'hostKeys'>> {
    const home = join(this.#dir, 'instances', instance.id);
    makeDirectorySync(home, 0o700);
    const key =
      settings.hostKeys === 'shared'
        ? (this.#shared ??= keyPairAt(join(this.#dir, 'host_key')))
        : keyPairAt(join(home, '.host_key'));
    this.#login ??= parsePublicKeys([keyPairAt(join(this.#dir, 'id_ed25519')).public]);
    const allowed = [...this.#login, ...parsePublicKeys(settings.authorizedKeys)];
    const connections = new Set<Connection>();
    const ssh = new ssh2.Server({ hostKeys: [key.private] }, (connection) => {
      connections.add(connection);
      connection.on('close', () => connections.delete(connection));
      serveConnection(connection, { allowed, home, hostname: instance.name });
    });
    const tcp = createServer((socket) => ssh.injectSocket(socket));
    this.#endpoints.set(instance.id, { tcp, connections });
    const port = await listen(tcp, settings.address, instance.port ?? 0);
    return { address: settings.address, port, hostKeys: [key.public] };
  }

  halt(id: string): void {
    this.#end(id);
  }

  remove(id: string): void {
    this.#end(id);
    rmSync(join(this.#dir, 'instances', id), { recursive: true, force: true });
  }

  close(): void {
    for (const id of [...this.#endpoints.keys()]) this.#end(id);
  }

  #end(id: string): void {
    const endpoint = this.#endpoints.get(id);
    this.#endpoints.delete(id);
    endpoint?.tcp.close();
    for (const connection of endpoint?.connections ?? []) connection.end();
  }
}

function listen(server: TcpServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** Access of a connection. */
interface SshAccess {
  /** Keys that may log in, under any user name. */
  readonly allowed: readonly ParsedKey[];
  /** Working directory of commands. */
  readonly home: string;
  /** Host name of the instance. */
  readonly hostname: string;
}

/** `PATH` of commands. */
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Serves one connection: authenticates by key and runs commands or a shell. */
function serveConnection(connection: Connection, access: SshAccess): void {
  connection.on('error', () => {}); // key scans and clients that hang up; `close` follows
  connection.on('authentication', (context) => authenticate(context, access.allowed));
  connection.on('ready', () => {
    connection.on('session', (acceptSession) => {
      const session = acceptSession();
      session.on('pty', (accept) => accept?.());
      session.on('env', (accept) => accept?.());
      session.on('exec', (accept, _reject, { command }) => run(accept(), access, ['-c', command]));
      session.on('shell', (accept) => run(accept(), access, []));
    });
  });
}

function authenticate(context: AuthContext, allowed: readonly ParsedKey[]): void {
  if (context.method !== 'publickey') return context.reject(['publickey']);
  const key = allowed.find((one) => isSame(one.getPublicSSH(), context.key.data));
  if (!key) return context.reject(['publickey']);
  // Without a signature the client only asks whether the key is acceptable.
  if (!context.signature) return context.accept();
  if (!context.blob || key.verify(context.blob, context.signature, context.hashAlgo) !== true) {
    return context.reject(['publickey']);
  }
  context.accept();
}

function isSame(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function run(channel: ServerChannel, { home, hostname }: SshAccess, args: readonly string[]): void {
  const child = spawn('/bin/sh', args, {
    cwd: home,
    env: { PATH: SEARCH_PATH, HOME: home, HOSTNAME: hostname },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  channel.pipe(child.stdin);
  child.stdin.on('error', () => {}); // A command may ignore its input.
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  channel.on('close', () => child.kill('SIGHUP'));
  child.on('error', (error) => {
    channel.stderr.write(`cannot run a shell: ${error.message}\n`);
    channel.exit(127);
    channel.end();
  });
  child.on('close', (code, signal) => {
    if (code === null) channel.exit(signal ?? 'TERM');
    else channel.exit(code);
    channel.end();
  });
}

/** An ed25519 key pair in OpenSSH's form. */
interface KeyPair {
  readonly private: string;
  /** `<type> <base64>`. */
  readonly public: string;
}

const PROBE = 'nodepool';

/** About one in 256 ed25519 pairs of ssh2 cannot be parsed, or its halves do not match. */
function isUsable(pair: { private: string; public: string }): boolean {
  const [secret, open] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
  if (secret instanceof Error || open instanceof Error) return false;
  return open.verify(PROBE, secret.sign(PROBE)) === true;
}

/** Generates ed25519 pairs until one is usable. */
export function generateUsable(): { private: string; public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (isUsable(pair)) return pair;
  }
}

/** The key pair in a file and its `.pub`, generated at first use. */
export function keyPairAt(file: string): KeyPair {
  if (!existsSync(file)) {
    const made = generateUsable();
    writeFileSync(`${file}.pub`, `${made.public}\n`, { mode: 0o644 });
    writeFileSync(`${file}.new`, made.private, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  const [type = '', base64 = ''] = readFileSync(`${file}.pub`, 'utf8').split(/\s+/);
  return { private: readFileSync(file, 'utf8'), public: `${type} ${base64}` };
}

/** Parses keys in the format of `authorized_keys`; skips invalid ones. */
function parsePublicKeys(texts: readonly string[]): ssh2.ParsedKey[] {
  return texts.flatMap((text) => {
    const key = ssh2.utils.parseKey(text);
    return key instanceof Error ? [] : [key];
  });
}
