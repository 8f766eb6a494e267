import { expect, it } from 'vitest';
import { errorLinesOf, loadWritten } from '../../test/support/load-config.js';

const HOOK = 'webhooks: [{name: chat, url: "https://hooks.example.org/n", events: [request-failed]}]';
const TOKEN = '0123456789abcdef';

it('takes tokens from the secure file only', async () => {
  const tokens = `api-tokens: [{name: alice, token: ${TOKEN}x}]`;

  expect((await loadWritten({ yaml: '{}', secure: tokens })).apiTokens).toEqual([
    { name: 'alice', token: `${TOKEN}x` },
  ]);
  expect((await loadWritten({ yaml: tokens })).apiTokens).toEqual([]);
});

it('accepts webhooks of earlier files, with a warning', async () => {
  const { warnings } = await loadWritten({ yaml: HOOK, secure: `webhooks: [{name: chat, secret: ${TOKEN}x}]` });

  expect(warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    expect.stringMatching(/^webhooks: this key has no effect.*api\/v1\/events/),
  ]);
});

it('takes keys for tokens from the secure file only, and none that can be guessed', async () => {
  const [first, second] = ['a'.repeat(32), 'b'.repeat(64)];

  expect((await loadWritten({ yaml: '{}' })).tokenKeys).toEqual([]);
  expect((await loadWritten({ yaml: '{}', secure: `token-keys: [${first}, ${second}]` })).tokenKeys).toEqual([
    first,
    second,
  ]);
  const lines = await errorLinesOf({ yaml: '{}', secure: `token-keys: [${first.slice(1)}]` });
  expect(lines.join('\n')).toMatch(/token-keys\[0\].*32/);
  expect(lines.join('\n')).not.toContain(first.slice(1));
  expect((await loadWritten({ yaml: `token-keys: [${first}]` })).tokenKeys).toEqual([]);
});

it.each([['a token that can be guessed', '{}', 'api-tokens: [{name: alice, token: short}]', 'token']])(
  'refuses %s',
  async (_what, yaml, secure, named) => {
    const lines = await errorLinesOf({ yaml, secure });

    expect(lines.join('\n')).toContain(named);
  },
);
