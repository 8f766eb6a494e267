import type { Clock, Json } from '@nodepool/zk-protocol';
import { isOpenStackError, type OpenStackError } from './errors.js';
import type { Credentials } from './clouds/credentials.js';
import type { CloudSettings } from './clouds/types.js';
import { ConfigError } from '@nodepool/core';
import { errorWithoutAnswer } from './classify.js';
import type { RefusedLogins } from './refused-logins.js';
import { readToken, tokenRequest, type Token } from './keystone.js';

/** An answer of Keystone. */
export interface TokenAnswer {
  readonly token: string | undefined;
  readonly body: Json;
}

/** A refused login. */
export interface RefusedLogin {
  readonly error: OpenStackError;
  /** When it was first refused. */
  readonly sinceMs: number;
  /** When it was last refused. */
  readonly lastSeenMs: number;
}

/** Maximum remaining lifetime at which a token is renewed. */
const EARLY_MS = 120_000;
/** Remaining share of the lifetime at which a token is renewed, for short-lived tokens. */
const EARLY_SHARE = 0.2;

/**
 * The token of a cloud: fetched at first use, renewed before it expires and once for each refusal. Concurrent callers share
 * one call.
 */
export class TokenSource {
  readonly #settings: CloudSettings;
  readonly #clock: Clock;
  readonly #logins: RefusedLogins;
  readonly #credentials: () => Credentials;
  readonly #fetch: (url: string, body: string) => Promise<TokenAnswer>;
  #token: Token | undefined;
  #fetching: Promise<Token> | undefined;
  #refusal: RefusedLogin | undefined;

  /**
   * @param credentials - read before each login
   * @param fetch - sends `POST <url>`; needs its own timeout, because callers share it
   */
  constructor(
    settings: CloudSettings,
    clock: Clock,
    logins: RefusedLogins,
    credentials: () => Credentials,
    fetch: (url: string, body: string) => Promise<TokenAnswer>,
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#logins = logins;
    this.#credentials = credentials;
    this.#fetch = fetch;
  }

  /** The refused login; `undefined` once Keystone has accepted one. */
  get refusal(): RefusedLogin | undefined {
    return this.#refusal;
  }

  /**
   * The current token; `undefined` for clouds without authentication.
   * @param forMs - how long it has to last; a fresh one may last for less
   */
  async get(forMs = 0): Promise<Token | undefined> {
    if (this.#settings.auth.method === 'none') return undefined;
    const token = this.#token;
    if (token && !this.#isOld(token, forMs)) return token;
    try {
      return await this.#renew();
    } catch (error) {
      // During an outage of Keystone, keep using a valid token.
      const holds = token && token === this.#token && token.expiresMs > this.#clock.now();
      if (holds && isOpenStackError(error) && error.code === 'NODEPOOL_PROVIDER_UNAVAILABLE') return token;
      throw error;
    }
  }

  /** Drops a token that a service refused. */
  refused(token: Token): void {
    if (this.#token === token) this.#token = undefined;
  }

  async #login(): Promise<TokenAnswer> {
    const credentials = this.#credentials();
    const { auth } = credentials;
    if (auth.authUrl === undefined) throw new ConfigError(`cloud "${this.#settings.name}" has no auth_url`);
    this.#logins.check(credentials, this.#clock);
    try {
      const answer = await this.#fetch(`${identityUrl(auth.authUrl)}/auth/tokens`, JSON.stringify(tokenRequest(auth)));
      this.#logins.accepted(credentials);
      return answer;
    } catch (error) {
      if (isOpenStackError(error, 'unauthorized')) this.#logins.refused(credentials, error, this.#clock);
      throw error;
    }
  }

  #refused(error: OpenStackError): void {
    const nowMs = this.#clock.now();
    // During a pause the error contains its length; its cause is the refusal.
    const { cause = error } = error;
    if (!isOpenStackError(cause)) return;
    this.#refusal = { error: cause, sinceMs: this.#refusal?.sinceMs ?? nowMs, lastSeenMs: nowMs };
  }

  #isOld({ issuedMs, expiresMs }: Token, forMs: number): boolean {
    if (expiresMs === Infinity) return false;
    const lifeMs = expiresMs - issuedMs;
    const early = Math.min(EARLY_MS, lifeMs * EARLY_SHARE);
    return this.#clock.now() >= expiresMs - Math.max(early, Math.min(forMs, lifeMs * (1 - EARLY_SHARE)));
  }

  #renew(): Promise<Token> {
    this.#fetching ??= this.#fetchNew().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #fetchNew(): Promise<Token> {
    const answer = await this.#login().catch((error: unknown) => {
      if (isOpenStackError(error, 'unauthorized')) this.#refused(error);
      throw error;
    });
    this.#refusal = undefined;
    const token = readToken(answer.token, answer.body, this.#clock.now());
    if (!token) {
      const call = { service: 'identity', method: 'POST', path: '/v3/auth/tokens' } as const;
      throw errorWithoutAnswer(call, 'returned no token: is auth_url the URL of Keystone?');
    }
    this.#token = token;
    return token;
  }
}

/** The root of version 3: `auth_url` is the root or its parent. */
export function identityUrl(authUrl: string): string {
  const plain = authUrl.replace(/\/+$/, '');
  return /\/v3$/.test(plain) ? plain : `${plain}/v3`;
}
