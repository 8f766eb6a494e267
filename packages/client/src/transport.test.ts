import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Transport } from './transport.js';

/** A server that sends this, whatever it is asked. */
async function serverOf(text: string): Promise<string> {
  const server = createServer((_request, response) => response.end(text));
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const call = { method: 'GET', path: '/', timeoutMs: 5_000 } as const;

it('keeps a path of the address', () => {
  expect(new Transport({ url: 'https://proxy.example.org/nodepool/' }).url).toBe('https://proxy.example.org/nodepool');
});

it('names a path of the address when there is no such operation below it', async () => {
  const refusal = JSON.stringify({ code: 'not-found', detail: 'There is no such path' });
  const server = createServer((_request, response) => response.writeHead(404).end(refusal));
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  await expect(new Transport({ url: `${url}/api/v1/` }).json(call)).rejects.toMatchObject({
    ...{ code: 'not-found', message: `There is no such path: leave "/api/v1" out of ${url}/api/v1` },
  });
  await expect(new Transport({ url }).json(call)).rejects.toThrow(/^There is no such path$/);
});

it('does not take a page for an answer', async () => {
  const transport = new Transport({ url: `http://${await serverOf('<html>')}` });

  await expect(transport.json(call)).rejects.toMatchObject({ code: 'not-nodepool' });
});

describe('a token', () => {
  it.each(['http://nl01:8005', 'http://192.0.2.1', 'http://127.0.0.1.example.org', 'http://[2001:db8::1]/'])(
    'is not sent to another computer over plain HTTP: %s',
    (url) => {
      expect(() => new Transport({ url, token: 'alice.secret' })).toThrow(
        expect.objectContaining({ code: 'insecure', message: expect.stringMatching(/was not sent .*https/) as string }),
      );
      expect(new Transport({ url, token: 'alice.secret', insecure: true }).url).toBe(url.replace(/\/$/, ''));
      expect(new Transport({ url }).url).toBe(url.replace(/\/$/, ''));
    },
  );

  it.each(['http://127.0.0.1:1', 'http://localhost', 'http://[::1]:8005', 'https://nl01', 'unix:/run/x'])(
    'is sent to this computer, and over TLS: %s',
    (url) => {
      expect(new Transport({ url, token: 'alice.secret' }).url).toBe(url);
    },
  );
});

it('says that a server does not speak TLS, and does not try again', async () => {
  const transport = new Transport({ url: `https://${await serverOf('')}` });

  await expect(transport.json(call)).rejects.toMatchObject({
    isPermanent: true,
    message: expect.stringMatching(
      /: it does not speak TLS: name the port that has TLS, or let its operator set tls of webapp$/,
    ) as string,
  });
});

it('limits the silence of a server', async () => {
  const server = createServer(() => {});
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = new Transport({ url: `http://127.0.0.1:${port}` });

  await expect(transport.json({ ...call, timeoutMs: 49.999_963_1 })).rejects.toThrow('no answer within 0.05 s');
});
