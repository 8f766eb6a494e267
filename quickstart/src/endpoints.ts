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

/** A process being started, and the promise that it listens. */
interface Starting {
  readonly child: Child;
  readonly listening: Promise<void>;
}

async function prepareKeys(home: string): Promise<string[]> {
  await mkdir(home, { recursive: true });
  const [ed25519, ecdsa] = [join(home, '.host_ed25519'), join(home, '.host_ecdsa')];
  await ensureKey(ed25519, 'ed25519');
  await ensureKey(ecdsa, 'ecdsa');
  return [ed25519, ecdsa];
}

function startEndpoint(options: EndpointOptions): Starting {
  const child = startNode(SCRIPT, [JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const message = new Promise<true>((resolve) => child.process.stdout?.once('data', () => resolve(true)));
  const listening = Promise.race([message, child.ended]).then((result) => {
    if (result !== true) throw new QuickStartError(`the SSH endpoint on port ${options.port} did not start`);
  });
  return { child, listening };
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
    const results = await Promise.allSettled(missing.map(([name, host]) => this.#start(name, host)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #start(name: string, host: LocalHost): Promise<void> {
    const home = join(this.stateDir, 'hosts', String(host.port));
    const hostKeyFiles = await prepareKeys(home);
    const clientKeyFile = `${this.clientKey}.pub`;
    const { child, listening } = startEndpoint({ ...host, host: LOOPBACK, hostKeyFiles, clientKeyFile, home });
    this.#running.set(name, { ...host, child });
    await listening;
  }

  /** Stops all. */
  async close(): Promise<void> {
    await this.set([]);
  }
}
