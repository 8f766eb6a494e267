import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '@nodepool/test-servers';
import { SOON_MS } from './soon.js';

const running = new Set<ChildProcess>();

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Where a service is started. */
export interface ServiceOptions {
  /** A directory of its own. */
  readonly dir: string;
  readonly name: string;
  /**
   * Written as nodepool.yaml (JSON is YAML), plus a web server, of launcher or builder, on a free port. A string is written as it is, and finds that
   * port as `%(NODEPOOL_WEB_PORT)`.
   */
  readonly config: Record<string, unknown> | string;
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Further arguments. */
  readonly args?: readonly string[] | undefined;
  /** Port of its web server. Default: a free one. */
  readonly webPort?: number | undefined;
}

const commonOptions = (configFile: string) => ['-c', configFile, '--state-dir', join(dirname(configFile), 'state')];

/** The real launcher or builder as a process of its own. */
export class ServiceProcess {
  #output = '';
  readonly #outputListeners = new Set<() => void>();
  /** It is gone, and all it wrote has been read. */
  readonly #ended: Promise<void>;

  private constructor(
    readonly name: string,
    readonly webPort: number,
    readonly configFile: string,
    private readonly child: ChildProcess,
  ) {
    running.add(child);
    child.once('exit', () => running.delete(child));
    this.#ended = once(child, 'close').then(() => this.#tellListeners());
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8');
      stream?.on('data', (text: string) => {
        this.#output += text;
        this.#tellListeners();
      });
    }
  }

  /** Starts a Nodepool service without waiting for it to be ready. @param program - its file */
  static async start(
    program: string,
    { dir, name, config, env = {}, args = [], webPort }: ServiceOptions,
  ): Promise<ServiceProcess> {
    const [port = 0] = webPort === undefined ? await freePorts(1) : [webPort];
    await mkdir(dir, { recursive: true });
    const configFile = join(dir, 'nodepool.yaml');
    await writeFile(configFile, ServiceProcess.#configText(config, port));
    const common = commonOptions(configFile);
    const child = spawn(process.execPath, [program, '-d', ...common, '-p', join(dir, 'service.pid'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODEPOOL_WEB_PORT: String(port), ...env },
    });
    return new ServiceProcess(name, port, configFile, child);
  }

  static #configText(config: Record<string, unknown> | string, port: number): string {
    if (typeof config === 'string') return config;
    const webapp = { port, listen_address: '127.0.0.1' };
    return `${JSON.stringify({ webapp, 'builder-webapp': webapp, ...config }, undefined, 2)}\n`;
  }

  /** Options that point other Nodepool programs to the same configuration and state. */
  get commonOptions(): string[] {
    return commonOptions(this.configFile);
  }

  /** All it wrote to stdout and stderr. */
  get log(): string {
    return this.#output;
  }

  /** Its process id. */
  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return running.has(this.child);
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  #tellListeners(): void {
    for (const listener of this.#outputListeners) listener();
  }

  /** Waits until `/ready` says so. @throws {Error} it ended or was not ready in time; with what it lacks and its log */
  async whenReady(timeoutMs = 2 * SOON_MS): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const lack = await this.#lack();
      if (lack === undefined) return;
      if (!this.isRunning) throw new Error(`${this.name} ended:\n${this.log.slice(-4000)}`);
      if (Date.now() > deadline) {
        throw new Error(`${this.name} is not ready, /ready says: ${lack}\n${this.log.slice(-4000)}`);
      }
      await delay(20);
    }
  }

  /** What `/ready` says is missing; `undefined` when it is ready. */
  async #lack(): Promise<string | undefined> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.webPort}/ready`, { signal: AbortSignal.timeout(5000) });
      const body = await response.text();
      return response.ok ? undefined : `${response.status} ${body.trim()}`;
    } catch (error) {
      return `no answer, ${String(error)}`;
    }
  }

  /** Asks its web server. */
  async getJson(path: string): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${this.webPort}${path}`, {
      headers: { accept: 'application/json' },
    });
    return response.json();
  }

  /** Waits for something in its log from `since` (a length of the log) on; by default also what is there already. */
  async whenLogged(pattern: RegExp, since = 0, timeoutMs = SOON_MS): Promise<void> {
    let found = (): void => undefined;
    const logged = new Promise<void>((resolve) => (found = resolve));
    const look = (): void => {
      if (pattern.test(this.#output.slice(since))) found();
    };
    this.#outputListeners.add(look);
    look();
    const limit = new AbortController();
    const late = delay(timeoutMs, 'late', { signal: limit.signal }).catch(() => 'found');
    try {
      if ((await Promise.race([logged, late])) === 'late') {
        throw new Error(`${this.name} did not log ${pattern}:\n${this.#output.slice(since).slice(-4000)}`);
      }
    } finally {
      limit.abort();
      this.#outputListeners.delete(look);
    }
  }

  /** Puts another nodepool.yaml in the place of the present one, in one step; a string is written as it is. */
  async rewriteConfig(config: Record<string, unknown> | string): Promise<void> {
    await writeFile(`${this.configFile}.new`, ServiceProcess.#configText(config, this.webPort));
    await rename(`${this.configFile}.new`, this.configFile);
  }

  /** SIGSTOP. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** SIGKILL; resolves once it is gone. Safe to repeat. */
  async kill(): Promise<void> {
    if (this.isRunning) this.child.kill('SIGKILL');
    await this.#ended;
  }

  /** Stops it as a service manager does, or by another signal; resolves once it is gone. Safe to repeat. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.isRunning) this.child.kill(signal);
    await this.#ended;
  }
}
