import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport, LOCAL_SOCKETS, type Transport } from '@nodepool/driver-incus';
import { QuickStartError } from './terminal.js';

/** An answer of the daemon. */
interface Answer {
  readonly type: 'sync' | 'async' | 'error';
  readonly metadata: unknown;
  readonly error?: string;
}

const INSTALL = 'install one (Debian 12: "apt-get install lxd", Debian 13 or Ubuntu: incus), and run "lxd init --auto"';

/** Socket of the daemon of this machine: that of the environment, as for `lxc` and `incus`, or a usual one. */
export function findSocket(env: NodeJS.ProcessEnv, usual: readonly string[] = LOCAL_SOCKETS): string {
  const { INCUS_SOCKET, LXD_SOCKET, INCUS_DIR, LXD_DIR } = env;
  const dirs = [INCUS_DIR, LXD_DIR].flatMap((dir) => (dir === undefined ? [] : [join(dir, 'unix.socket')]));
  const named = [INCUS_SOCKET, LXD_SOCKET].flatMap((file) => file ?? []);
  const all = [...named, ...dirs, ...usual];
  const found = all.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new QuickStartError(
    `--incus needs an Incus or LXD on this machine: there is no socket at ${all.join(', ')}: ${INSTALL}`,
  );
}

/** Calls of the daemon, in one project. */
export class IncusApi {
  readonly #transport: Transport;
  readonly #project: string;

  constructor(socket: string, project: string) {
    const none = { clientCertificate: undefined, clientKey: undefined, serverCertificate: undefined };
    this.#transport = createTransport({ address: `unix:${socket}`, ...none, trustToken: undefined });
    this.#project = project;
  }

  /** Makes a call and waits until its operation has ended. @throws QuickStartError it was refused; `undefined`: not found */
  async call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const { status, answer } = await this.#send(method, path, body);
    if (status === 404) return undefined;
    if (answer.type !== 'async') return answer.metadata;
    const { id } = answer.metadata as { id: string };
    const ended = await this.#send('GET', `/operations/${id}/wait`);
    const { err } = (ended.answer.metadata ?? {}) as { err?: string };
    if (err !== undefined && err !== '') throw new QuickStartError(`${method} ${path}: ${err}`);
    return answer.metadata;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #send(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<{ status: number; answer: Answer }> {
    const query = `${path.includes('?') ? '&' : '?'}project=${encodeURIComponent(this.#project)}`;
    const signal = new AbortController().signal;
    const request = { method, path: `/1.0${path}${query}`, signal };
    try {
      const { status, text } = await this.#transport.send({
        ...request,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const answer = JSON.parse(text) as Answer;
      if (status >= 300 && status !== 404) throw new QuickStartError(`${method} ${path}: ${answer.error}`);
      return { status, answer };
    } catch (error) {
      throw error instanceof QuickStartError ? error : new QuickStartError((error as Error).message);
    }
  }
}
