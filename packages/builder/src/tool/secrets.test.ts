import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { SecretMask, toolVariables } from './secrets.js';

const KEY = [
  '-----BEGIN OPENSSH PRIVATE KEY-----',
  'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW',
  'QyNTUxOQAAACB/5TRvt+0k=',
  'tail',
  '-----END OPENSSH PRIVATE KEY-----',
  '',
].join('\n');

/** Output of bash. */
const bash = (script: string, secret: string, locale = 'C') =>
  execFileSync('bash', ['--norc', '-c', `exec 2>&1; ${script}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], SECRET: secret, LC_ALL: locale },
  });

const SCRIPTS = [
  'set -x; : "$SECRET"',
  'set -x; x=$SECRET; : y"$x"z',
  'set -x; bash -xc ": \\"\\$0\\"" "$SECRET"',
  'printf "%s\\n" "$SECRET"',
  'printf "%q\\n" "$SECRET"',
  'echo "${SECRET@Q}"',
  'export -p',
  'declare -p SECRET',
  'set',
  'set -x; printf "%q\\n" "$(printf %q "$SECRET")"',
];

describe('a secret in the output of a shell', () => {
  const secrets = [
    `it's a "quoted" $ecret`,
    'back\\slash\\\\twice\\',
    'tab\there and\x1b[31m red',
    'pÄsswörd mit Leerzeichen',
    'plain-Text_0123456789',
    '`ls` !wow; {a,b} [c] <d> ~e #f & |g *h? (i)',
    KEY,
    'first line\r\nsecond line of it\n\nlast one here',
  ];

  it.each(secrets.flatMap((secret) => SCRIPTS.map((script) => [script, secret] as const)))(
    '%s hides %j',
    (script, secret) => {
      const mask = new SecretMask({}, { SECRET: secret });

      for (const locale of ['C', 'C.UTF-8']) {
        const shown = mask.hide(bash(script, secret, locale));

        expect(shown).toContain('********');
        for (const piece of piecesOf(secret)) expect(shown).not.toContain(piece);
      }
    },
  );

  /** Sequences of letters and digits that are unaffected by quoting. */
  const piecesOf = (secret: string) => (secret.match(/[A-Za-z0-9]{4,}/g) ?? []).filter((piece) => piece !== 'SECRET');
});

describe('masked values', () => {
  it('are long values of an image, and short ones with names of secrets', () => {
    const mask = new SecretMask(
      {},
      { DIB_A: 'abcdefgh', DIB_B: 'short', DIB_PASSWORD: 'pass', PATH: '/usr/local/bin' },
    );

    expect(mask.hide('abcdefgh short pass /usr/local/bin')).toBe('******** short ******** /usr/local/bin');
  });

  it("are secrets of the builder's environment, and none of its other values", () => {
    const own = {
      OS_PASSWORD: 'os-secret',
      OS_AUTH_TYPE: 'v3',
      HOME: '/home/builder',
      http_proxy: 'http://me:pr0xy@proxy:3128',
    };

    expect(new SecretMask(own).hide('os-secret v3 /home/builder http://me:pr0xy@proxy:3128')).toBe(
      '******** v3 /home/builder http://me:********@proxy:3128',
    );
  });

  it('are none without secrets', () => {
    expect(new SecretMask({}).hide('text')).toBe('text');
  });

  it('do not slow down a line that consists of backslashes', () => {
    const mask = new SecretMask({}, { SECRET: "\\\\\\'\\\\ \\\\x\\" });
    const line = '\\'.repeat(65_536);
    const before = performance.now();

    mask.hide(line);

    expect(performance.now() - before).toBeLessThan(5_000);
  });
});

describe('the environment of the build tool', () => {
  it('has everything except secrets and variables of clouds', () => {
    const passed = {
      ...{ PATH: '/bin', HOME: '/root', LANG: 'C', LC_ALL: 'C', TMPDIR: '/tmp', http_proxy: 'http://p', MIRROR: 'm' },
      ...{ DIB_DEV_USER_PASSWORD: 'x', ELEMENTS_PATH: '/e', NODEPOOL_SCRIPTDIR: '/s', SSH_AUTH_SOCK: '/run/agent' },
    };
    const withheld = {
      ...{
        OS_PASSWORD: 'x',
        OS_CLOUD: 'x',
        AWS_SECRET_ACCESS_KEY: 'x',
        AWS_PROFILE: 'x',
        GOOGLE_APPLICATION_CREDENTIALS: 'x',
      },
      ...{
        NODEPOOL_ZK_PASSWORD: 'x',
        GITHUB_TOKEN: 'x',
        API_KEY: 'x',
        MY_SECRET: 'x',
        NOTIFY_SOCKET: 'x',
        WATCHDOG_USEC: 'x',
      },
      CREDENTIALS_DIRECTORY: 'x',
    };

    expect(toolVariables({ ...passed, ...withheld })).toEqual(passed);
  });
});

it('keeps private keys and passwords in URLs from the build tool, whatever the name, but passes on proxies', () => {
  const own = {
    ...{ DEPLOY: KEY, DATABASE: 'postgres://nodepool:hunter22@db/x', SITE: 'https://example.org/a:b@c' },
    ...{ http_proxy: 'http://user:hunter22@proxy:3128', DIB_APT_SOURCE: 'https://me:hunter22@apt' },
  };

  expect(Object.keys(toolVariables(own))).toEqual(['SITE', 'http_proxy', 'DIB_APT_SOURCE']);
});
