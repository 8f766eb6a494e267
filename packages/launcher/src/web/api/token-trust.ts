import type { Config, FoundCondition, Logger } from '@nodepool/core';
import { MAKE_TOKEN_KEY } from '@nodepool/core/config';
import { firstOf, newCondition, shellWord, type ConditionTypes } from '@nodepool/core/service';
import { isSignedLeaseToken, type Clock, type LeaseTokenRecord } from '@nodepool/zk-protocol';

/** Conditions of tokens. */
export const CONDITIONS = {
  TokensRefused: {
    ...{ kind: 'launcher', severity: 'warning' },
    meaning: 'tokens in ZooKeeper give no rights at a launcher, as no key that it has signed their records',
    reasons: {
      NoKey: 'its secure file has no `token-keys`, which are needed with `zookeeper-servers`',
      NotSigned: 'they were made by an earlier version, with another key, or by another program',
    },
    nextStep:
      'put the same `token-keys` into the secure file of all launchers; revoke the tokens, and create them again',
  },
} as const satisfies ConditionTypes;

/** Names in one message or in the log: a program with access to ZooKeeper can write any number of records. */
const MOST_NAMES = 10;

/** Options of {@link TokenTrust}. */
export interface TokenTrustOptions {
  readonly tokens: { values(): Iterable<LeaseTokenRecord> };
  readonly config: () => Pick<Config, 'tokenKeys'>;
  /** Reads the key of the state directory, for the embedded database; `undefined`: the database is another one. */
  readonly ownTokenKey: () => Promise<string | undefined>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly hostname: string;
}

/**
 * Knows which records of tokens were made with the key. ZooKeeper is open to other programs, so a record by itself gives no
 * rights.
 */
export class TokenTrust {
  readonly #options: TokenTrustOptions;
  readonly #logged = new Set<string>();
  #ownKey: string | undefined;
  #keys: readonly string[] = [];
  #known = new WeakMap<LeaseTokenRecord, boolean>();

  constructor(options: TokenTrustOptions) {
    this.#options = options;
  }

  /** Reads the key of the state directory. @throws NODEPOOL_STATE_DIR it cannot be read or made */
  async start(): Promise<void> {
    this.#ownKey = await this.#options.ownTokenKey();
  }

  /** Why the record gives no rights, with the fix; `undefined`: it gives rights. */
  distrusts(token: LeaseTokenRecord): string | undefined {
    if (this.#isSigned(token)) return undefined;
    const why = this.#keys.length === 0 ? NO_KEY : `${notSigned([token.name])}: ${fixFor(token.name)}`;
    if (!this.#logged.has(token.name) && this.#logged.size < MOST_NAMES) {
      this.#logged.add(token.name);
      this.#options.logger.warn('A token in ZooKeeper gives no rights', { name: token.name, reason: why });
    }
    return why;
  }

  /** What is wrong with the tokens of the database, as this launcher sees them. */
  conditions(): FoundCondition[] {
    const { tokens, clock, hostname: name } = this.#options;
    const nowMs = clock.now();
    const bad: string[] = [];
    for (const token of tokens.values()) {
      const isOver = token.endTimeMs !== null && token.endTimeMs <= nowMs;
      if (!isOver && this.distrusts(token) !== undefined) bad.push(token.name);
    }
    const [first] = bad.sort();
    if (first === undefined) return [];
    const evidence = { tokens: bad.length };
    if (this.#keys.length === 0) {
      const message = `it has no key for tokens, so it refuses those in ZooKeeper: ${listed(bad)}`;
      const nextStep = `on each launcher: ${MAKE_TOKEN_KEY} (the same key on all); then ${fixFor('NAME')}`;
      return [newCondition(CONDITIONS, 'TokensRefused', { name, reason: 'NoKey', message, nextStep, evidence })];
    }
    const [message, nextStep] = [notSigned(bad), fixFor(first)];
    return [newCondition(CONDITIONS, 'TokensRefused', { name, reason: 'NotSigned', message, nextStep, evidence })];
  }

  #isSigned(token: LeaseTokenRecord): boolean {
    const { tokenKeys } = this.#options.config();
    const keys = this.#ownKey === undefined ? tokenKeys : [...tokenKeys, this.#ownKey];
    if (keys.length !== this.#keys.length || keys.some((key, i) => key !== this.#keys[i])) {
      this.#keys = keys;
      this.#known = new WeakMap();
      this.#logged.clear();
    }
    let isSigned = this.#known.get(token);
    if (isSigned === undefined) this.#known.set(token, (isSigned = isSignedLeaseToken(token, keys)));
    return isSigned;
  }
}

const NO_KEY =
  'This launcher has no key for tokens, so it takes none of those in ZooKeeper: ' +
  `an operator adds one to its secure file with ${MAKE_TOKEN_KEY}, the same for all launchers`;

const notSigned = (names: readonly string[]) =>
  `No key of this launcher has signed the record${names.length > 1 ? 's' : ''} of ${listed(names)}, so ` +
  `${names.length > 1 ? 'they give' : 'it gives'} no rights`;

const fixFor = (name: string) =>
  `nodepool token revoke ${shellWord(name)}; nodepool token create ${shellWord(name)}, with the same token-keys as the launchers`;

const listed = (names: readonly string[]) =>
  firstOf(
    names.map((name) => `"${name}"`),
    MOST_NAMES,
  );
