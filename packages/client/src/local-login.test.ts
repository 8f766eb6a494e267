import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Transport } from './transport.js';

const NAME = 'a'.repeat(32);
const call = { method: 'GET', path: '/x', timeoutMs: 5_000 } as const;

/** A socket whose server answers so, with the directory for logins. */
async function socketOf(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-client-'));
  mkdirSync(join(directory, 'logins'));
  const server = createServer(answer);
  onTestFinished(() => {
    server.close().closeAllConnections();
    rmSync(directory, { recursive: true });
  });
  const path = join(directory, 'socket');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return path;
}

it('shows who the user is by a directory, and shows it again when the server has forgotten', async () => {
  let valid = '';
  const seen: string[] = [];
  const path = await socketOf(({ url, headers: { authorization = '' } }, response) => {
    seen.push(`${url} ${authorization}`);
    if (url === '/x') {
      response.writeHead(authorization === `Bearer ${valid}` ? 200 : 401).end(JSON.stringify({ authorization }));
    } else if (authorization.startsWith('Local ')) {
      const made = statSync(join(dirname(path), 'logins', NAME));
      valid = `token-${(made.mode & 0o777).toString(8)}-${seen.length}`;
      response.end(JSON.stringify({ token: valid }));
    } else response.end(JSON.stringify({ name: NAME, proof: '1.2' }));
  });
  const transport = new Transport({ url: `unix:${path}` });

  expect(await transport.json(call)).toEqual({ authorization: 'Bearer token-700-2' });
  valid = 'of a new launcher';
  expect(await transport.json(call)).toEqual({ authorization: 'Bearer token-700-6' });

  expect(seen.slice(0, 3)).toEqual(['/local-login ', `/local-login Local ${NAME}:1.2`, '/x Bearer token-700-2']);
  expect(readdirSync(join(dirname(path), 'logins'))).toEqual([]);
  transport.close();
});

it.each([{ name: '../../home/x', proof: '1' }, { name: NAME }, {}])('makes no directory for %j', async (answer) => {
  const path = await socketOf((_request, response) => response.end(JSON.stringify(answer)));

  await expect(new Transport({ url: `unix:${path}` }).json(call)).rejects.toMatchObject({ code: 'not-nodepool' });
});

it('does not log in with a directory that another user has made', async () => {
  const path = await socketOf((_request, response) => response.end(JSON.stringify({ name: NAME, proof: '1' })));
  mkdirSync(join(dirname(path), 'logins', NAME));

  await expect(new Transport({ url: `unix:${path}` }).json(call)).rejects.toMatchObject({
    ...{ code: 'unknown-user', message: expect.stringContaining('EEXIST') as string },
  });
});
