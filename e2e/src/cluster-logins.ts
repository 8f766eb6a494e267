import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Login data of the launcher, by where it is. The first characters of each are enough to find an excerpt. */
export const SECRETS = {
  token: 'tokenInKubeconfig3141592653',
  fileToken: 'tokenInFile2718281828',
  programToken: 'tokenOfProgram1618033988',
  spoiltAnswer: 'spoiltAnswerOfProgram5772156649',
  refused: 'refusedToken1414213562',
  key: 'clientKeyInKubeconfig1732050807',
  password: 'passwordInKubeconfig2236067977',
  argument: 'argumentOfProgram2645751311',
  unreadable: 'unreadableToken3162277660',
  unknownAnchor: 'tokenLikeAnAnchor3605551275',
  proxy: 'passwordOfProxy3316624790',
  tokenKey: 'keyThatSignsTokens4242640687119285',
};

/** Where kubeconfig files are written, and the server that they name. */
export interface ClusterPlace {
  readonly dir: string;
  readonly url: string;
}

/** Providers of one cluster, each with another kind of login. Only `plain`, `file` and `program` can log in. */
export async function makeProviders(place: ClusterPlace): Promise<Record<string, unknown>[]> {
  const tokenFile = join(place.dir, 'token');
  await writeFile(tokenFile, SECRETS.fileToken, { mode: 0o600 });
  const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' };
  const works = JSON.stringify({ ...answer, status: { token: SECRETS.programToken } });
  const exec = async (name: string, output: string, status: number) => ({
    ...{ command: await program(place, name, output, status), apiVersion: answer.apiVersion },
    ...{ args: ['--password', SECRETS.argument], env: [{ name: 'PASSWORD', value: SECRETS.argument }] },
  });
  const key = Buffer.from(SECRETS.key).toString('base64');
  return Promise.all([
    provider(place, 'plain', { token: SECRETS.token, 'client-key-data': key }),
    provider(place, 'file', { tokenFile }),
    provider(place, 'program', { exec: await exec('works', works, 0) }),
    provider(place, 'spoilt', { exec: await exec('spoilt', SECRETS.spoiltAnswer, 0) }),
    provider(place, 'ends', { exec: await exec('ends', works, 1) }),
    provider(place, 'refused', { token: SECRETS.refused }),
    provider(place, 'password', { username: 'nodepool', password: SECRETS.password }),
    provider(place, 'unreadable', `users:\n- {user: {token: "${SECRETS.unreadable}" x: ${SECRETS.unreadable}}\n`),
    // nothing listens on port 1, and the other proxy is of no kind that is known
    provider(place, 'socks', { token: SECRETS.token }, `socks5://nodepool:${SECRETS.proxy}@127.0.0.1:1`),
    provider(place, 'proxy', { token: SECRETS.token }, `ftp://nodepool:${SECRETS.proxy}@127.0.0.1:1`),
    provider(place, 'anchor', `users:\n- user:\n    token: *${SECRETS.unknownAnchor}\n`),
  ]);
}

/** @param user - of the kubeconfig file, or the whole text of the file */
async function provider(place: ClusterPlace, name: string, user: Record<string, unknown> | string, proxyUrl?: string) {
  const content = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name: 'cluster', cluster: { server: place.url, 'proxy-url': proxyUrl } }],
    users: [{ name: 'user', user }],
    contexts: [{ name, context: { cluster: 'cluster', user: 'user' } }],
  };
  const kubeconfig = join(place.dir, `${name}.kubeconfig`);
  await writeFile(kubeconfig, typeof user === 'string' ? user : JSON.stringify(content), { mode: 0o600 });
  const labels = [
    { name: `${name}-pod`, type: 'pod', image: 'debian' },
    { name: `${name}-space`, type: 'namespace' },
  ];
  return { name, driver: 'kubernetes', kubeconfig, 'launch-retries': 1, pools: [{ name, labels }] };
}

/** A program that prints this. @returns its path */
async function program({ dir }: ClusterPlace, name: string, output: string, status: number): Promise<string> {
  const file = join(dir, name);
  await writeFile(file, `#!/bin/sh\ncat <<'END'\n${output}\nEND\nexit ${status}\n`);
  await chmod(file, 0o755);
  return file;
}

/** Each form in which a secret may be shown. */
function formsOf(secret: string): string[] {
  return [secret, Buffer.from(secret).toString('base64').replace(/=+$/, ''), encodeURIComponent(secret)];
}

/** The secrets of {@link SECRETS} as they are looked for: excerpts, as messages may cut them. */
export const EXCERPTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SECRETS).map(([name, secret]) => [name, secret.slice(0, 12)]),
);

/** Names of the secrets in a text. */
export function secretsIn(text: string, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    formsOf(secret).some((form) => text.includes(form)) ? [name] : [],
  );
}
