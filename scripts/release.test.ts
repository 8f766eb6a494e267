import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('release.mjs', import.meta.url));
let registry: Server | undefined;

afterEach(() => registry?.close());

/** Rehearses `publish` against a registry that is out of order. */
async function rehearse(): Promise<{ code: number; said: string }> {
  const server = createServer((_request, response) => response.writeHead(503).end('{"error":"out of order"}'));
  registry = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    npm_config_fetch_retries: '0',
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, 'publish', '--dry-run'], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });
}

it('a rehearsal fails when the registry does not say what it has', async () => {
  const { code, said } = await rehearse();

  expect(said).toMatch(/cannot tell what would be published: npm view @?[\w/-]+@[\d.]+ failed: .*503/s);
  expect(said).not.toContain('would publish ');
  expect(code).toBe(1);
});
