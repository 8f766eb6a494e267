import { PASSWORDS, urlOf, type PortName, type Site } from './site.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** An object in API responses. */
export type ApiObject = Record<string, Json>;

/** Converts a value that should be a string. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** User and project of the calls. */
export type Caller = 'admin' | 'nodepool';

/** Direct API calls to set up a cloud and to inspect it independently of the driver. */
export class AdminApi {
  readonly #site: Site;
  readonly #caller: Caller;
  #token: string | undefined;
  #projectId = '';

  constructor(site: Site, caller: Caller = 'admin') {
    this.#site = site;
    this.#caller = caller;
  }

  /** Token for the header `x-auth-token`. */
  token(): Promise<string> {
    return this.#logIn();
  }

  /** Id of the project. */
  async projectId(): Promise<string> {
    await this.#logIn();
    return this.#projectId;
  }

  /**
   * Makes a call. @param path - with the version, e.g. `/v2.1/servers`
   * @throws {Error} the call failed; with the response
   */
  async call(
    service: PortName,
    method: string,
    path: string,
    body?: ApiObject,
    headers: Record<string, string> = {},
  ): Promise<ApiObject> {
    const token = await this.#logIn();
    const answer = await fetch(urlOf(this.#site, service, path), {
      method,
      headers: { 'x-auth-token': token, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status === 401) this.#token = undefined;
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as ApiObject);
  }

  /** Lists objects. */
  async list(service: PortName, path: string, key: string): Promise<ApiObject[]> {
    return ((await this.call(service, 'GET', path))[key] ?? []) as ApiObject[];
  }

  /** URL of a call. */
  urlOf(service: PortName, path: string): string {
    return urlOf(this.#site, service, path);
  }

  /** Uploads the data of an image. */
  async putFile(path: string, data: Uint8Array<ArrayBuffer>): Promise<void> {
    const headers = { 'x-auth-token': await this.#logIn(), 'content-type': 'application/octet-stream' };
    const answer = await fetch(urlOf(this.#site, 'glance', path), { method: 'PUT', headers, body: data });
    if (!answer.ok) throw new Error(`PUT ${path}: ${answer.status} ${await answer.text()}`);
  }

  async #logIn(): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    const domain = { name: 'Default' };
    const password = this.#caller === 'admin' ? PASSWORDS.admin : PASSWORDS.user;
    const identity = { methods: ['password'], password: { user: { name: this.#caller, domain, password } } };
    const scope = { project: { name: this.#caller, domain } };
    const answer = await fetch(urlOf(this.#site, 'keystone', '/v3/auth/tokens'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: { identity, scope } }),
    });
    const { token } = (await answer.json()) as { token?: { project: { id: string } } };
    this.#token = answer.headers.get('x-subject-token') ?? undefined;
    if (!token || this.#token === undefined)
      throw new Error(`Keystone refused to log in ${this.#caller}: ${answer.status}`);
    this.#projectId = token.project.id;
    return this.#token;
  }
}
