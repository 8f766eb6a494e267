import { NotFoundError, ProviderUnavailableError, QuotaError, RateLimitedError } from '@nodepool/core';

/** HTTP client of the cloud. Converts its errors to Nodepool errors, which determine the next step. */
export class ShedClient {
  #url;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
  }

  /** @param {AbortSignal} signal */
  list(signal) {
    return this.#call(signal, 'GET', '/machines');
  }

  /**
   * @param {{ name: string, size: string, tags: Record<string, string> }} order
   * @param {AbortSignal} signal
   */
  create(order, signal) {
    return this.#call(signal, 'POST', '/machines', order);
  }

  /**
   * @param {string} id
   * @param {AbortSignal} signal
   */
  delete(id, signal) {
    return this.#call(signal, 'DELETE', `/machines/${encodeURIComponent(id)}`);
  }

  /** @param {AbortSignal} signal */
  limits(signal) {
    return this.#call(signal, 'GET', '/limits');
  }

  async #call(signal, method, path, body) {
    const what = `${method} ${this.#url}${path}`;
    const response = await this.#fetch(what, path, { method, body: body && JSON.stringify(body), signal });
    if (response.ok) return await response.json();
    const text = `${what}: ${response.status} ${await response.text()}`;
    if (response.status === 404) throw new NotFoundError(text);
    if (response.status === 409) throw new QuotaError(text);
    if (response.status === 429) throw new RateLimitedError(text, { retryAfterMs: retryAfterMs(response) });
    if (response.status >= 500) throw new ProviderUnavailableError(text);
    throw new Error(text);
  }

  async #fetch(what, path, options) {
    try {
      const headers = { 'content-type': 'application/json' };
      return await fetch(`${this.#url}${path}`, { ...options, headers });
    } catch (cause) {
      throw new ProviderUnavailableError(`${what}: the cloud does not answer`, { cause });
    }
  }
}

function retryAfterMs(response) {
  const seconds = Number(response.headers.get('retry-after'));
  return seconds > 0 ? seconds * 1000 : undefined;
}
