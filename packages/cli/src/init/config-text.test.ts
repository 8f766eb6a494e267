import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { configText, staticConfig } from './config-text.js';

const host = (index: number) => ({ user: 'ci', host: `host${index}.example.com`, port: 22 });

it('writes a machine with its login, its first host key, and a port only where it is not 22', () => {
  const text = staticConfig(
    [
      { host: { user: 'ci', host: 'a', port: 22 }, keys: ['ssh-ed25519 AAAA', 'ssh-rsa BBBB'] },
      { host: { user: 'root', host: '2001:db8::7', port: 2222 }, keys: ['ssh-rsa CCCC'] },
    ],
    'linux',
  );

  expect(parse(text)).toEqual({
    labels: [{ name: 'linux' }],
    webapp: { listen_address: '127.0.0.1', port: 8005 },
    providers: [
      {
        name: 'machines',
        driver: 'static',
        pools: [
          {
            name: 'main',
            nodes: [
              { name: 'a', labels: 'linux', username: 'ci', 'host-key': 'ssh-ed25519 AAAA' },
              {
                name: '2001:db8::7',
                labels: 'linux',
                username: 'root',
                'connection-port': 2222,
                'host-key': 'ssh-rsa CCCC',
              },
            ],
          },
        ],
      },
    ],
  });
});

it('explains a key only at its first occurrence', () => {
  const checked = Array.from({ length: 1_000 }, (_, index) => ({ host: host(index), keys: ['ssh-ed25519 AAAA'] }));

  const text = staticConfig(checked, 'linux');

  expect(text.match(/# The machine must prove/g)).toHaveLength(1);
  expect((parse(text) as { providers: [{ pools: [{ nodes: unknown[] }] }] }).providers[0].pools[0].nodes).toHaveLength(
    1_000,
  );
});

it.each(['yes', '1.0', 'null', '0x1', 'a: b', '# no comment', 'π'])('keeps the text %j a text', (name) => {
  expect(parse(configText({ name }, 'x'), { version: '1.1' })).toMatchObject({ providers: [{ name }] });
});

it('names the key that the machines trust', () => {
  const text = staticConfig([{ host: host(1), keys: ['ssh-ed25519 AAAA'] }], 'linux', '/etc/lease_ca');

  expect(parse(text)).toMatchObject({ 'lease-ca-key': '/etc/lease_ca', providers: [{ 'lease-certificates': 'host' }] });
});
