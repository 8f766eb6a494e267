import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, ServerProcess } from './child-process.js';
import { ensureDebianPackages } from './debian-packages.js';
import { accepts, freePorts, until } from './ports.js';

/** Kinds of host keys. */
export type SshKeyType = 'ed25519' | 'ecdsa' | 'rsa';

/** Settings of SSH servers. */
export interface SshdOptions {
  /** Number of hosts, each with its own address. @default 3 */
  count?: number;
  /** Port of all hosts. @default a free one */
  port?: number;
  /** @default all three; an RSA key takes up to a second */
  keyTypes?: SshKeyType[];
  /** Additional lines of sshd_config, such as `MaxStartups 2`. */
  options?: string[];
}

/** One SSH server. */
export interface SshHost {
  readonly address: string;
  readonly port: number;
  /** Public host keys as in a key scan: `ssh-ed25519 AAAA...`, in the order of the key types. */
  readonly hostKeys: readonly string[];
  /** Log since its last start. */
  readonly log: string;
  /** Stops listening; afterwards connections are refused. Safe to repeat. */
  stop(): Promise<void>;
  /** Listens again with the same keys. */
  start(): Promise<void>;
  /** Restarts with new host keys, as after a reinstallation. */
  replaceKeys(): Promise<void>;
}

/** Running SSH servers. */
export interface SshdHandle {
  readonly hosts: readonly SshHost[];
  /** Private key for logins on all hosts, as the user of the test. */
  readonly clientKeyFile: string;
  stop(): Promise<void>;
}

async function makeKey(path: string, type: SshKeyType, comment: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.pub`, { force: true });
  const bits = type === 'rsa' ? ['-b', '2048'] : [];
  await run('ssh-keygen', ['-q', '-t', type, ...bits, '-N', '', '-C', comment, '-f', path]);
}

class Host implements SshHost {
  hostKeys: readonly string[] = [];
  #process: ServerProcess | undefined;

  constructor(
    readonly address: string,
    readonly port: number,
    private readonly dir: string,
    private readonly authorizedKeys: string,
    private readonly keyTypes: readonly SshKeyType[],
    private readonly options: readonly string[],
  ) {}

  get log(): string {
    return this.#process?.output ?? '';
  }

  #keyFile(type: SshKeyType): string {
    return join(this.dir, `host_${type}`);
  }

  async makeKeys(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    await Promise.all(this.keyTypes.map((type) => makeKey(this.#keyFile(type), type, this.address)));
    const texts = await Promise.all(this.keyTypes.map((type) => readFile(`${this.#keyFile(type)}.pub`, 'utf8')));
    this.hostKeys = texts.map((text) => text.split(' ').slice(0, 2).join(' '));
  }

  #config(): string {
    const lines = [
      `ListenAddress ${this.address}`,
      `Port ${this.port}`,
      `PidFile none`,
      ...this.keyTypes.map((type) => `HostKey ${this.#keyFile(type)}`),
      `AuthorizedKeysFile ${this.authorizedKeys}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'PermitRootLogin prohibit-password',
      'UseDNS no',
      // The default drops random connections of a parallel scan.
      ...(this.options.some((line) => line.startsWith('MaxStartups')) ? [] : ['MaxStartups 100']),
      ...this.options,
    ];
    return `${lines.join('\n')}\n`;
  }

  async start(): Promise<void> {
    if (this.#process?.isRunning) return;
    const configFile = join(this.dir, 'sshd_config');
    await writeFile(configFile, this.#config());
    const process = ServerProcess.start('/usr/sbin/sshd', ['-D', '-e', '-f', configFile]);
    this.#process = process;
    const failure = (): string => `sshd on ${this.address}:${this.port} did not start:\n${this.log.slice(-2000)}`;
    await until(async () => {
      if (!process.isRunning) throw new Error(failure());
      return process.output.includes('Server listening') && (await accepts(this.port, this.address));
    }, failure);
  }

  async stop(): Promise<void> {
    if (!this.#process?.isRunning) return;
    await this.#process.kill('SIGKILL');
    // A child process of a connection may keep the listening socket open for a moment.
    const failure = (): string => `${this.address}:${this.port} still accepts connections after sshd was killed`;
    await until(async () => !(await accepts(this.port, this.address)), failure);
  }

  async replaceKeys(): Promise<void> {
    await this.stop();
    await this.makeKeys();
    await this.start();
  }
}

const byte = (from: number, to: number): number => from + Math.floor(Math.random() * (to - from));

/**
 * Starts OpenSSH servers on consecutive random addresses in 127.0.0.0/8, all on one port. They end with the test process.
 * @throws {Error} sshd cannot be installed or does not start; with the end of its log
 */
export async function startSshd(options: SshdOptions = {}): Promise<SshdHandle> {
  await ensureDebianPackages(['openssh-server', 'openssh-client']);
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 }); // required by sshd
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-sshd-'));
  const [freePort] = await freePorts(1, '0.0.0.0');
  const port = options.port ?? freePort ?? 0;
  const clientKeyFile = join(dir, 'client');
  const keyTypes = options.keyTypes ?? ['ed25519', 'ecdsa', 'rsa'];
  const prefix = `127.${byte(1, 255)}.${byte(0, 255)}`;
  const first = byte(1, 100);
  const hosts = Array.from({ length: options.count ?? 3 }, (_, i) => {
    const address = `${prefix}.${first + i}`;
    return new Host(address, port, join(dir, address), `${clientKeyFile}.pub`, keyTypes, options.options ?? []);
  });
  const stop = async (): Promise<void> => {
    await Promise.all(hosts.map((host) => host.stop()));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await makeKey(clientKeyFile, 'ed25519', 'client');
    await Promise.all(hosts.map((host) => host.makeKeys().then(() => host.start())));
    return { hosts, clientKeyFile, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
