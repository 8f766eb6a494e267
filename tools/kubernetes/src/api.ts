import { readFile } from 'node:fs/promises';
import { Agent, type Dispatcher } from 'undici';

/** A JSON object. */
export type Body = Record<string, unknown>;

/** An answer of an API server. */
export interface Answer {
  readonly status: number;
  readonly body: Body;
}

/** Calls an API server as an administrator does, apart from the driver under test. */
export class ApiAccess {
  readonly server: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent: Dispatcher;

  constructor(server: string, options: { ca?: string; cert?: string; key?: string; token?: string }) {
    const { token, ...tls } = options;
    this.server = server;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#agent = new Agent({ connect: tls, headersTimeout: 0, bodyTimeout: 0 });
  }

  /** With the client certificate in these files. */
  static async withFiles(server: string, ca: string, cert: string, key: string): Promise<ApiAccess> {
    const [caText, certText, keyText] = await Promise.all([ca, cert, key].map((file) => readFile(file, 'utf8')));
    return new ApiAccess(server, { ca: caText ?? '', cert: certText ?? '', key: keyText ?? '' });
  }

  /** One call; any status is an answer. @param path - with its query */
  call(method: Dispatcher.HttpMethod, path: string, body?: unknown): Promise<Answer> {
    return this.#call(method, path, body, method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  }

  /** Server-side apply as a dry run: the server checks every field, and stores nothing. @param path - of the object */
  dryApply(path: string, body: Body): Promise<Answer> {
    const query = 'dryRun=All&fieldManager=test&force=true';
    return this.#call('PATCH', `${path}?${query}`, body, 'application/apply-patch+yaml');
  }

  /** One call that must succeed. */
  async must(method: Dispatcher.HttpMethod, path: string, body?: unknown): Promise<Body> {
    const answer = await this.call(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  /** Objects of a list. */
  async list(path: string): Promise<Body[]> {
    return (await this.must('GET', path))['items'] as Body[];
  }

  /** Events of a watch until the signal ends it. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<{ type: string; object: Body }, void> {
    const { body } = await this.#agent.request({ ...this.#to('GET', path), headers: { ...this.#headers }, signal });
    let rest = '';
    try {
      for await (const chunk of body) {
        rest += String(chunk);
        const lines = rest.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') yield JSON.parse(line) as { type: string; object: Body };
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #call(method: Dispatcher.HttpMethod, path: string, body: unknown, type: string): Promise<Answer> {
    const { statusCode, body: answer } = await this.#agent.request({
      ...this.#to(method, path),
      headers: { ...this.#headers, ...(body !== undefined && { 'content-type': type }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: statusCode, body: text.startsWith('{') ? (JSON.parse(text) as Body) : { message: text } };
  }

  #to(method: Dispatcher.HttpMethod, path: string) {
    return { origin: this.server, path: `/${path}`, method };
  }
}

/** The name of an object. */
export function nameOf({ metadata }: Body): string {
  return (metadata as { name: string }).name;
}
