import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startNode, stop } from './child.js';
import type { Child } from './child.js';
import { LOOPBACK } from './configuration.js';
import type { LocalHost } from './configuration.js';
import type { EndpointOptions } from './endpoint.js';
import { ensureKey } from './keys.js';
import { QuickStartError } from './terminal.js';

const SCRIPT = fileURLToPath(new URL('./endpoint.js', import.meta.url));
const STOP_GRACE_MS = 2000;

async function startEndpoint(host: LocalHost, stateDir: string, clientKey: string): Promise<Child> {
  const home = join(stateDir, 'hosts', String(host.port));
  await mkdir(home, { recursive: true });
  const hostKeyFiles = [join(home, '.host_ed25519'), join(home, '.host_ecdsa')];
  await ensureKey(join(home, '.host_ed25519'), 'ed25519');
  await ensureKey(join(home, '.host_ecdsa'), 'ecdsa');
  const options: EndpointOptions = { ...host, host: LOOPBACK, hostKeyFiles, clientKeyFile: `${clientKey}.pub`, home };
  const child = startNode(SCRIPT, [JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const listening = new Promise<true>((resolve) => child.process.once('message', () => resolve(true)));
  if ((await Promise.race([listening, child.ended])) === true) return child;
  throw new QuickStartError(`the SSH endpoint on port ${host.port} did not start`);
}

/** The machines of the quick start: one SSH server process for each. */
export class Endpoints {
  readonly #running = new Map<string, LocalHost & { readonly child: Child }>();

  /** @param clientKey - private key file of the one who may log in; the public key lies beside it */
  constructor(
    readonly stateDir: string,
    readonly clientKey: string,
  ) {}

  /** Ports that are in use by these machines. */
  get ports(): Set<number> {
    return new Set([...this.#running.values()].map(({ port }) => port));
  }

  /** Starts what is missing and stops what is no longer named. */
  async set(hosts: readonly LocalHost[]): Promise<void> {
    const wanted = new Map(hosts.map((host) => [`${host.username}@${host.port}`, host]));
    const surplus = [...this.#running].filter(([name]) => !wanted.has(name));
    await Promise.all(
      surplus.map(async ([name, { child }]) => {
        await stop(child, STOP_GRACE_MS);
        this.#running.delete(name);
      }),
    );
    const missing = [...wanted].filter(([name]) => !this.#running.has(name));
    await Promise.all(
      missing.map(async ([name, host]) => {
        const child = await startEndpoint(host, this.stateDir, this.clientKey);
        this.#running.set(name, { ...host, child });
      }),
    );
  }

  /** Stops all. */
  async close(): Promise<void> {
    await this.set([]);
  }
}
