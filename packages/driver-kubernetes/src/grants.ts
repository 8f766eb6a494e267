import { ConfigError, LaunchError, type Clock, type JsonObject, type Logger } from '@nodepool/core';
import { delay, steadyNow } from '@nodepool/zk-protocol';
import { ACCOUNT, metaWithPod, tokenSecret } from './access.js';
import type { ApiPod } from './api.js';
import type { KubernetesClient } from './client.js';
import { TOKEN_EXPIRY_S, type KubernetesPoolConfig, type KubernetesProviderConfig } from './config.js';
import type { Plan } from './create-node.js';
import { AlreadyExistsError, NotHeldError } from './errors.js';
import type { Grant } from './instance.js';
import { unlessOut, type Rights } from './rights.js';
import { narrowed } from './rules.js';
import type { Troubles } from './troubles.js';
import { TOKENS } from './wanted-rights.js';

/** Dependencies of {@link Grants}. */
export interface GrantsOptions {
  readonly config: Pick<KubernetesProviderConfig, 'tokenExpiryS'>;
  readonly client: Pick<
    KubernetesClient,
    'login' | 'createToken' | 'createSecret' | 'getSecret' | 'createRole' | 'getOwnRules'
  >;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly troubles: Pick<Troubles, 'token'>;
}

/** Whose token. */
export interface GrantOrder {
  readonly plan: Pick<Plan, 'namespace' | 'access'>;
  readonly logger: Logger;
  /** Rights in a new project may arrive later. */
  readonly mayLack?: boolean | undefined;
}

/** Whose token in a namespace of others. */
export interface SharedGrantOrder {
  readonly plan: Pick<Plan, 'namespace'>;
  readonly pool: Pick<KubernetesPoolConfig, 'serviceAccount'>;
  readonly logger: Logger;
}

/** A role of a node. */
export interface RoleOrder {
  readonly plan: Pick<Plan, 'namespace'>;
  readonly role: JsonObject;
  readonly logger: Logger;
}

/** Clocks of two computers may differ by this much. */
const CLOCK_TOLERANCE_MS = 60_000;
/** The controller fills a secret within milliseconds. */
const SECRET_TIMEOUT_MS = 30_000;
const SECRET_PAUSE_MS = 200;

/** What jobs get: a token of the account of their node, and a role for it. Both no more than the launcher may give. */
export class Grants {
  readonly #options: GrantsOptions;

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  /** The token of a node with its own namespace: with an end or, where the cluster refuses such tokens, that of a secret. */
  async grant({ plan, logger, mayLack }: GrantOrder, signal: AbortSignal): Promise<Grant> {
    const { config, rights } = this.#options;
    const { namespace, access } = plan;
    const meta = (access?.account['metadata'] ?? {}) as JsonObject;
    const fromSecret = () => this.#secretToken(namespace, ACCOUNT, meta, signal);
    if (config.tokenExpiryS === 0) return fromSecret();
    const wasMissing = rights.isMissing(TOKENS);
    const ending = this.#endingGrant(namespace, ACCOUNT, logger, signal);
    return mayLack === true && !wasMissing ? ending : rights.help(ending, TOKENS, fromSecret);
  }

  /**
   * The token of a node in a namespace of others.
   * @returns `undefined`: only that of a secret can be had, which ends with the pod, so the pod comes first
   */
  async grantShared(
    { plan: { namespace }, pool, logger }: SharedGrantOrder,
    pod: ApiPod | undefined,
    signal: AbortSignal,
  ): Promise<Grant | undefined> {
    const { serviceAccount: account } = pool;
    if (account === undefined) return this.#ownToken();
    const ending: Promise<Grant | undefined> = this.#endingGrant(namespace, account, logger, signal);
    return this.#options.rights.help(
      ending,
      TOKENS,
      () => pod && this.#secretToken(namespace, account, metaWithPod(pod.metadata), signal),
    );
  }

  /** Creates a role; without what the launcher has not itself, where it may not give that. */
  async createRole({ plan: { namespace }, role, logger }: RoleOrder, signal: AbortSignal): Promise<void> {
    const { client, rights } = this.#options;
    const { name } = role['metadata'] as { readonly name: string };
    try {
      await client.createRole(namespace, role, signal);
      rights.narrow(name, []);
    } catch (error) {
      if (!(error instanceof NotHeldError)) throw error;
      const held = await client.getOwnRules(namespace, signal).catch(unlessOut);
      const { rules, lost } = narrowed(role['rules'] as JsonObject[], held ?? []);
      if (rules.length === 0) throw error;
      await client.createRole(namespace, { ...role, rules: [...rules] }, signal);
      if (rights.narrow(name, lost))
        logger.warn('Roles of nodes get no more than the launcher has', { namespace, lost });
    }
  }

  /** A token that ends. */
  async endingToken(namespace: string, account: string, logger: Logger, signal: AbortSignal): Promise<string> {
    const { config, client, clock, troubles } = this.#options;
    const tokenExpiryS = config.tokenExpiryS || TOKEN_EXPIRY_S;
    const { status } = await client.createToken(namespace, account, tokenExpiryS, signal);
    const gotMs = Date.parse(status.expirationTimestamp) - clock.now();
    const isShort = gotMs < tokenExpiryS * 1_000 - CLOCK_TOLERANCE_MS;
    const message = `tokens are valid for ${Math.round(gotMs / 1_000)} s, token-expiry is ${tokenExpiryS}`;
    if (isShort) logger.warn('Token of a node is valid for a shorter time than asked for', { message });
    troubles.token(isShort ? message : undefined);
    return status.token;
  }

  /** That of the launcher itself. */
  async #ownToken(): Promise<Grant> {
    const { token, cluster } = await this.#options.client.login();
    if (token !== undefined) return { token, user: ACCOUNT };
    throw new ConfigError(
      `context "${cluster.context}" has no token that jobs could get: set service-account of the pool`,
    );
  }

  async #endingGrant(namespace: string, account: string, logger: Logger, signal: AbortSignal): Promise<Grant> {
    return { token: await this.endingToken(namespace, account, logger, signal), user: account };
  }

  async #secretToken(namespace: string, account: string, meta: JsonObject, signal: AbortSignal): Promise<Grant> {
    const { client, clock } = this.#options;
    const secret = tokenSecret(account, meta);
    const { name } = secret['metadata'] as { readonly name: string };
    await client.createSecret(namespace, secret, signal).catch((error: unknown) => {
      if (!(error instanceof AlreadyExistsError)) throw error;
    });
    const endMs = steadyNow(clock) + SECRET_TIMEOUT_MS;
    for (;;) {
      const { data } = await client.getSecret(namespace, name, signal);
      if (data?.['token'] !== undefined)
        return { token: Buffer.from(data['token'], 'base64').toString('utf8'), user: account };
      if (steadyNow(clock) >= endMs) break;
      await delay(clock, SECRET_PAUSE_MS, signal);
    }
    const seconds = SECRET_TIMEOUT_MS / 1_000;
    throw new LaunchError(
      'status',
      `secret "${namespace}/${name}" got no token within ${seconds} s: look at kube-controller-manager`,
    );
  }
}
