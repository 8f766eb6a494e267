import { expect, it } from 'vitest';
import { errorLinesOf, loadWritten } from '../../test/support/load-config.js';

const HOOK = 'webhooks: [{name: chat, url: "https://hooks.example.org/n", events: [request-failed]}]';
const TOKEN = '0123456789abcdef';

it('joins webhooks with their secrets, and takes tokens from the secure file', async () => {
  const config = await loadWritten({
    yaml: HOOK,
    secure: `webhooks: [{name: chat, secret: ${TOKEN}x}]\napi-tokens: [{name: alice, token: ${TOKEN}x}]\n`,
  });

  expect(config.webhooks).toEqual([
    { name: 'chat', url: 'https://hooks.example.org/n', events: ['request-failed'], secret: `${TOKEN}x` },
  ]);
  expect(config.apiTokens).toEqual([{ name: 'alice', token: `${TOKEN}x` }]);
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

it('has neither by default', async () => {
  const { apiTokens, webhooks } = await loadWritten({ yaml: HOOK });

  expect(apiTokens).toEqual([]);
  expect(webhooks).toMatchObject([{ name: 'chat', secret: undefined }]);
});

it.each([
  ['a secret for an undefined webhook', HOOK, 'webhooks: [{name: chet, secret: aaaaaaaaaaaaaaaaaaaa}]', 'chet'],
  ['a token that can be guessed', '{}', 'api-tokens: [{name: alice, token: short}]', 'token'],
  ['an event that does not exist', HOOK.replace('request-failed', 'request-lost'), '{}', 'events'],
  ['an address that is none', HOOK.replace('https:', 'mailto:'), '{}', 'url'],
  ['two webhooks of one name', `${HOOK.slice(0, -1)}, ${HOOK.slice(11)}`, '{}', 'chat'],
])('refuses %s', async (_what, yaml, secure, named) => {
  const lines = await errorLinesOf({ yaml, secure });

  expect(lines.join('\n')).toContain(named);
});
