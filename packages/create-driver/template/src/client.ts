import {
  CapacityError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
  readRetryAfter,
  type TaskManager,
} from '@nodepool/core';

/** A machine in API responses. */
export interface Machine {
  readonly id: string;
  readonly status: 'starting' | 'running' | 'broken' | 'stopping';
  readonly address: string | null;
  readonly size: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** Parameters of a new machine. */
export interface MachineOrder {
  readonly name: string;
  readonly size: string;
  readonly image: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** API calls that the driver needs. They throw Nodepool errors, which determine the next step. */
export interface CloudClient {
  list(signal: AbortSignal): Promise<Machine[]>;
  create(order: MachineOrder, signal: AbortSignal): Promise<Machine>;
  /** @throws {NotFoundError} the machine does not exist */
  delete(id: string, signal: AbortSignal): Promise<void>;
  limits(signal: AbortSignal): Promise<{ machines: number }>;
}

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Creates the HTTP client. Nodepool's task manager limits the rate of calls and counts them. */
export function createClient(url: string, tasks: TaskManager, fetch: Fetch): CloudClient {
  const call = <T>(name: string, method: string, path: string, signal: AbortSignal, body?: unknown): Promise<T> =>
    tasks.call(name, (own) => send<T>(fetch, method, `${url}${path}`, own, body), { signal });
  return {
    list: (signal) => call('machines.GET', 'GET', '/machines', signal),
    create: (order, signal) => call('machines.POST', 'POST', '/machines', signal, order),
    delete: (id, signal) => call('machines.DELETE', 'DELETE', `/machines/${encodeURIComponent(id)}`, signal),
    limits: (signal) => call('limits.GET', 'GET', '/limits', signal),
  };
}

async function send<T>(fetch: Fetch, method: string, url: string, signal: AbortSignal, body?: unknown): Promise<T> {
  const what = `${method} ${url}`;
  let response: Response;
  let text: string;
  try {
    const headers = { 'content-type': 'application/json' };
    response = await fetch(url, { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) });
    text = await response.text();
  } catch (cause) {
    signal.throwIfAborted();
    throw new ProviderUnavailableError(`${what}: the cloud does not answer`, { cause });
  }
  // Responses are assumed to match the API documentation; they are not validated.
  if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
  throw errorOf(response, `${what}: ${response.status} ${text}`);
}

/** Maps a response to the error class that determines the caller's next step. */
function errorOf(response: Response, message: string): Error {
  switch (response.status) {
    case 404:
      return new NotFoundError(message);
    case 403:
      return new QuotaError(message);
    case 507:
      return new CapacityError(message);
    case 429:
      return new RateLimitedError(message, {
        retryAfterMs: readRetryAfter({
          retryAfter: response.headers.get('retry-after'),
          date: response.headers.get('date'),
        }),
      });
    default:
      return response.status >= 500 ? new ProviderUnavailableError(message) : new Error(message);
  }
}
