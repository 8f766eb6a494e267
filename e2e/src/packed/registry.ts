import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { freePorts } from '@nodepool/test-servers';
import { vi } from 'vitest';

/** A package registry on loopback. */
export interface Registry {
  readonly url: string;
  /** What a folder's `.npmrc` must say so that packages of this repository come from here and may be published. */
  readonly npmrc: string;
  /** Versions of a package, oldest first; none when it is unknown. */
  versions(name: string): Promise<string[]>;
  stop(): Promise<void>;
}

const USER = { name: 'publisher', password: 'publisher' };

/** Starts verdaccio in an empty folder. Other packages than ours never pass through it. */
export async function startRegistry(folder: string): Promise<Registry> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  await mkdir(folder, { recursive: true });
  const config = {
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: {},
    packages: { '@nodepool/*': { access: '$all', publish: '$authenticated' } },
    web: { enable: false },
    log: { type: 'file', path: join(folder, 'log'), level: 'warn' },
    server: { keepAliveTimeout: 1 },
  };
  const configFile = join(folder, 'config.yaml');
  await writeFile(configFile, JSON.stringify(config));
  const program = createRequire(import.meta.url).resolve('verdaccio/bin/verdaccio');
  const child = spawn(process.execPath, [program, '--config', configFile, '--listen', `127.0.0.1:${port}`], {
    cwd: folder,
    stdio: 'ignore',
  });
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  try {
    await vi.waitUntil(() => answers(`${url}/-/ping`), { timeout: 100_000, interval: 50 });
    const token = await register(url);
    return { url, npmrc: `@nodepool:registry=${url}\n//127.0.0.1:${port}/:_authToken=${token}\n`, versions, stop };
  } catch (error) {
    await stop();
    throw error;
  }

  async function versions(name: string): Promise<string[]> {
    const answer = await fetch(`${url}/${name.replace('/', '%2f')}`);
    if (answer.status === 404) return [];
    return Object.keys(((await answer.json()) as { versions: object }).versions);
  }
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false, // nothing listens yet
  );

async function register(url: string): Promise<string> {
  const answer = await fetch(`${url}/-/user/org.couchdb.user:${USER.name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(USER),
  });
  const { token } = (await answer.json()) as { token?: string };
  if (token === undefined) throw new Error(`the registry gave no token: ${answer.status}`);
  return token;
}
