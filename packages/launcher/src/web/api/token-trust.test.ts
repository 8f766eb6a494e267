import { describe, expect, it } from 'vitest';
import { newLeaseToken, signLeaseToken, type LeaseTokenRecord } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { TokenTrust } from './token-trust.js';

const [KEY, OTHER] = ['a'.repeat(32), 'b'.repeat(32)];

function tokenOf(name: string, endTimeMs: number | null = null): LeaseTokenRecord {
  const rights = { owner: name, labels: ['*'], maxTtlMs: 1, maxNodes: 3, tenantName: null, highestPriority: 200 };
  return newLeaseToken({ ...rights, admin: false, name, hash: 'ab', endTimeMs }, 0);
}

const signed = signLeaseToken(tokenOf('alice'), KEY);

async function trustWith(tokens: readonly LeaseTokenRecord[], start: { keys?: string[]; ownKey?: string } = {}) {
  const state = { keys: start.keys ?? [] };
  const logged: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_text: string, fields?: object) => void logged.push(JSON.stringify(fields)),
  };
  const trust = new TokenTrust({
    ...{ tokens: { values: () => tokens }, clock: { now: () => 1_000 }, logger, hostname: 'nl01' },
    config: () => ({ tokenKeys: state.keys }),
    ownTokenKey: () => Promise.resolve(start.ownKey),
  });
  await trust.start();
  return { trust, state, logged };
}

describe('trust in tokens', () => {
  it('needs a key of the secure file, or that of the state directory', async () => {
    expect((await trustWith([], { keys: [OTHER, KEY] })).trust.distrusts(signed)).toBeUndefined();
    expect((await trustWith([], { keys: [OTHER], ownKey: KEY })).trust.distrusts(signed)).toBeUndefined();
    expect((await trustWith([], { keys: [OTHER], ownKey: OTHER })).trust.distrusts(signed)).toMatch(
      /No key of this launcher has signed the record of "alice".*nodepool token revoke alice; nodepool token create alice/,
    );
  });

  it('quotes a name that no token can have in the commands to run', async () => {
    const { trust } = await trustWith([], { keys: [OTHER] });

    expect(trust.distrusts({ ...signed, name: 'x; id' })).toContain(
      "token revoke 'x; id'; nodepool token create 'x; id'",
    );
  });

  // Ends: TokensRefused NoKey
  it('is nothing without a key, with the one command that makes it, until the token is made again with one', async () => {
    const tokens = [signLeaseToken(tokenOf('alice'), OTHER)];
    const { trust, state } = await trustWith(tokens);

    expect(trust.distrusts(signed)).toMatch(/no key for tokens.*openssl rand -hex 32/);
    expect(trust.conditions()).toMatchObject([
      { type: 'TokensRefused', name: 'nl01', reason: 'NoKey', nextStep: expect.stringContaining('openssl') as string },
    ]);
    state.keys = [KEY];
    tokens.splice(0, 1, signed);
    expect(trust.conditions()).toEqual([]);
  });

  it('follows a reload that changes the keys', async () => {
    const { trust, state } = await trustWith([signed], { keys: [KEY] });
    expect([trust.distrusts(signed), trust.conditions()]).toEqual([undefined, []]);

    state.keys = [OTHER];
    expect(trust.distrusts(signed)).toContain('alice');
    expect(trust.conditions()).toMatchObject([{ reason: 'NotSigned' }]);

    state.keys = [OTHER, KEY];
    expect([trust.distrusts(signed), trust.conditions()]).toEqual([undefined, []]);
  });

  it('is missed once in the log for each token, and by no more than a few of many', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => tokenOf(`t${i}`));
    const { trust, logged } = await trustWith(many, { keys: [KEY] });

    trust.conditions();
    const [condition] = trust.conditions();

    expect(logged).toHaveLength(10);
    expect(logged[0]).toContain('"t0"');
    expect(condition?.message).toMatch(/ and 9990 more, so they give no rights$/);
  });

  it('is not missed by tokens that have expired', async () => {
    expect((await trustWith([tokenOf('old', 1_000)], { keys: [KEY] })).trust.conditions()).toEqual([]);
  });
});
