import { createTransport, findLocalSocket, type Transport } from '@nodepool/driver-incus';
import { QuickStartError } from './terminal.js';

/** An answer of the daemon. */
interface Answer {
  readonly type: 'sync' | 'async' | 'error';
  readonly metadata: unknown;
  readonly error?: string;
}

const INSTALL =
  'install one: LXD (Debian 12: "apt-get install lxd", Ubuntu: "snap install lxd"; then "lxd init --auto") or Incus (Debian 13: ' +
  '"apt-get install incus"; then "incus admin init --minimal")';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Time limits, ms: an answer of the daemon, and the end of an operation, such as the deletion of a container. */
interface Limits {
  readonly answerMs: number;
  readonly operationMs: number;
}

const LIMITS: Limits = { answerMs: 30_000, operationMs: 120_000 };

/** Socket of the daemon of this machine. */
export function findSocket(env: NodeJS.ProcessEnv): string {
  try {
    return findLocalSocket(env);
  } catch (error) {
    throw new QuickStartError(`--incus: ${(error as Error).message}: ${INSTALL}`);
  }
}

/** Calls of the daemon, in one project. */
export class IncusApi {
  readonly #transport: Transport;
  readonly #project: string;
  readonly #limits: Limits;

  constructor(socket: string, project: string, limits = LIMITS) {
    const none = { clientCertificate: undefined, clientKey: undefined, serverCertificate: undefined };
    this.#transport = createTransport({ address: `unix:${socket}`, ...none, trustToken: undefined });
    this.#project = project;
    this.#limits = limits;
  }

  /** Makes a call and waits until its operation has ended. @throws QuickStartError it was refused; `undefined`: not found */
  async call(method: Method, path: string, body?: unknown): Promise<unknown> {
    const { answerMs, operationMs } = this.#limits;
    const { status, answer } = await this.#send(method, path, answerMs, body);
    if (status === 404) return undefined;
    if (answer.type !== 'async') return answer.metadata;
    const { id } = answer.metadata as { id: string };
    const ended = await this.#send('GET', `/operations/${id}/wait`, operationMs);
    const { err } = (ended.answer.metadata ?? {}) as { err?: string };
    if (err !== undefined && err !== '') throw new QuickStartError(`${method} ${path}: ${err}`);
    return answer.metadata;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #send(
    method: Method,
    path: string,
    limitMs: number,
    body?: unknown,
  ): Promise<{ status: number; answer: Answer }> {
    const query = `${path.includes('?') ? '&' : '?'}project=${encodeURIComponent(this.#project)}`;
    const signal = AbortSignal.timeout(limitMs);
    try {
      const { status, text } = await this.#transport.send({
        ...{ method, path: `/1.0${path}${query}`, signal },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const answer = JSON.parse(text) as Answer;
      if (status >= 300 && status !== 404) throw new QuickStartError(`${method} ${path}: ${answer.error}`);
      return { status, answer };
    } catch (error) {
      if (error instanceof QuickStartError) throw error;
      const late = `no answer from ${this.#transport.address} within ${limitMs / 1_000} s: it hangs; see its log, or restart it`;
      throw new QuickStartError(signal.aborted ? `${method} ${path}: ${late}` : (error as Error).message);
    }
  }
}
