import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { WebappConfig } from '@nodepool/core/config';
import { WebGate } from './gate.js';

const PROXY = '192.0.2.10';
const trustedProxies: WebappConfig['trustedProxies'] = [
  { network: PROXY, prefix: 32, family: 'ipv4' },
  { network: '10.1.0.0', prefix: 16, family: 'ipv4' },
  { network: '2001:db8::', prefix: 64, family: 'ipv6' },
];

function gateWith(settings: Partial<WebappConfig> = {}): WebGate {
  const config = { port: 8005, listenAddress: '0.0.0.0', ...settings };
  return new WebGate('nl01.example.org', () => config);
}

/** A request as Node's server gives it. */
function requestFrom(
  remoteAddress: string,
  headers: Record<string, string> = {},
  socket: { encrypted?: boolean; localAddress?: string } = {},
): IncomingMessage {
  const given = { remoteAddress, localAddress: '192.0.2.1', ...socket };
  return { socket: given, headers: { host: '192.0.2.1:8005', ...headers } } as unknown as IncomingMessage;
}

/** The code of the refusal, or who sends it. */
function outcome(gate: WebGate, request: IncomingMessage): string {
  try {
    const { address, localUser } = gate.credentialsOf(request);
    return localUser === undefined ? address : `${address} ${localUser}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const token = { authorization: 'Bearer x' };

describe('a token', () => {
  it.each([
    ['192.0.2.77', {}, 'insecure'],
    ['::ffff:192.0.2.77', {}, 'insecure'],
    ['192.0.2.77', { encrypted: true }, '192.0.2.77'],
    ['127.0.0.1', {}, '127.0.0.1'],
    ['::1', {}, '::1'],
    ['::ffff:127.0.0.5', {}, '127.0.0.5'],
    ['192.0.2.1', {}, '192.0.2.1'], // this computer's own address
  ])('from %s, connection %j: %s', (address, socket, expected) => {
    expect(outcome(gateWith(), requestFrom(address, token, socket))).toBe(expected);
  });

  it('is refused with the way out, also as part of a file request', () => {
    const request = requestFrom('192.0.2.77', token);

    expect(() => gateWith().checkToken(request)).toThrow(
      expect.objectContaining({
        status: 403,
        message: expect.stringMatching(/HTTPS.*insecure-tokens: true/s) as string,
      }),
    );
    expect(outcome(gateWith({ insecureTokens: true }), request)).toBe('192.0.2.77');
    expect(outcome(gateWith(), requestFrom('192.0.2.77'))).toBe('192.0.2.77');
  });

  it.each([
    ['an unknown proxy', '192.0.2.99', { 'x-forwarded-for': '192.0.2.77', 'x-forwarded-proto': 'https' }, 'insecure'],
    ['a proxy with HTTPS', PROXY, { 'x-forwarded-for': '192.0.2.77', 'x-forwarded-proto': 'https' }, '192.0.2.77'],
    ['a proxy with HTTP', PROXY, { 'x-forwarded-for': '192.0.2.77', 'x-forwarded-proto': 'http' }, 'insecure'],
    ['a proxy that does not say', PROXY, { 'x-forwarded-for': '192.0.2.77' }, 'insecure'],
    ['a proxy that was told a lie', PROXY, { 'x-forwarded-proto': 'https, http' }, 'insecure'],
    ['two proxies', '10.1.2.3', { 'x-forwarded-for': '8.8.8.8, 192.0.2.77, 192.0.2.10' }, 'insecure'],
  ])('through %s', (_what, address, headers, expected) => {
    expect(outcome(gateWith({ trustedProxies }), requestFrom(address, { ...token, ...headers }))).toBe(expected);
  });

  it.each([
    ['8.8.8.8, 192.0.2.77', '192.0.2.77'],
    ['8.8.8.8, 192.0.2.77, 10.1.9.9', '192.0.2.77'],
    ['192.0.2.77:4711', '192.0.2.77'],
    ['[2001:db9::1]:4711', '2001:db9::1'],
    ['2001:db9::1, 2001:db8::7', '2001:db9::1'],
    ['127.0.0.1', '127.0.0.1'],
    ['unknown', PROXY],
    ['', PROXY],
  ])('is from the client that trusted proxies name: %s', (forwarded, expected) => {
    const headers = { ...token, 'x-forwarded-for': forwarded, 'x-forwarded-proto': 'https' };
    const request = requestFrom(PROXY, headers);

    expect(outcome(gateWith({ trustedProxies }), request)).toBe(expected);
    expect(gateWith({ trustedProxies }).addressOf(request)).toBe(expected);
  });
});

describe('a user of this computer', () => {
  const own = { has: () => true, ownerOf: () => 'uid:1000@nl01' };
  const settings = { port: 8005, listenAddress: '0.0.0.0' };

  it('is known on the socket alone, where a token cannot be read on the way', () => {
    const gate = new WebGate('nl01.example.org', () => settings, own);

    expect(outcome(gate, requestFrom('', { ...token, host: 'localhost' }))).toBe('uid:1000@nl01 uid:1000@nl01');
  });

  it('is not known on loopback, which a proxy that adds no header or a tunnel also reaches', () => {
    const gate = new WebGate('nl01.example.org', () => settings, { has: () => false, ownerOf: () => undefined });

    expect(outcome(gate, requestFrom('127.0.0.1'))).toBe('127.0.0.1');
  });
});

describe('the names in a request', () => {
  const names = ['Pool.example.org', 'https://other.example.org:8443'];

  it.each([
    ['192.0.2.1:8005', undefined, 'good'],
    ['[::1]:8005', undefined, 'good'],
    ['localhost', undefined, 'good'],
    ['app.localhost:1', undefined, 'good'],
    ['nl01', undefined, 'good'],
    ['NL01.example.org.:8005', undefined, 'good'],
    ['pool.example.org', undefined, 'good'],
    ['evil.example.com', undefined, 'wrong-host'],
    ['nl01.example.org.evil.example.com', undefined, 'wrong-host'],
    ['127.0.0.1.evil.example.com', undefined, 'wrong-host'],
    ['nl01@evil.example.com', undefined, 'wrong-host'],
    ['nl01/x', undefined, 'wrong-host'],
    ['', undefined, 'wrong-host'],
    ['localhost:8005', 'http://localhost:8005', 'good'],
    ['pool.example.org', 'https://pool.example.org', 'good'],
    ['127.0.0.1:8005', 'https://pool.example.org', 'good'],
    ['127.0.0.1:8005', 'http://pool.example.org', 'wrong-origin'],
    ['127.0.0.1:8005', 'https://pool.example.org:444', 'wrong-origin'],
    ['127.0.0.1:8005', 'https://pool.example.org:8443', 'wrong-origin'],
    ['127.0.0.1:8005', 'https://other.example.org:8443', 'good'],
    ['127.0.0.1:8005', 'https://other.example.org', 'wrong-origin'],
    ['127.0.0.1:8005', 'http://nl01:3000', 'wrong-origin'],
    ['127.0.0.1:8005', 'https://nl01', 'wrong-origin'],
    ['localhost:8005', 'https://localhost:8005', 'wrong-origin'],
    ['pool.example.org:80', 'http://pool.example.org', 'good'],
    ['other.example.org', undefined, 'good'],
    ['192.0.2.1:8005', 'http://192.0.2.1:8005', 'good'],
    ['192.0.2.1:8005', 'http://192.0.2.2:8005', 'wrong-origin'],
    ['localhost:8005', 'http://localhost:3000', 'wrong-origin'],
    ['localhost:8005', 'https://evil.example.com', 'wrong-origin'],
    ['localhost:8005', 'null', 'wrong-origin'],
  ])('Host %j, Origin %j: %s', (host, origin, expected) => {
    const request = requestFrom('127.0.0.1', { host, ...(origin !== undefined && { origin }) });
    const found = outcome(gateWith({ names }), request);

    expect(found.startsWith('127.0.0.1') ? 'good' : found).toBe(expected);
  });

  it.each([
    ['http', undefined, 'wrong-origin'],
    ['https', undefined, '192.0.2.77'],
    ['https', ':8443', 'wrong-origin'],
  ])('count with the scheme that a trusted proxy says (%s), and the port (%s)', (scheme, port = '', expected) => {
    const headers = { host: 'nl01', 'x-forwarded-for': '192.0.2.77', 'x-forwarded-proto': scheme };
    const request = requestFrom(PROXY, { ...headers, origin: `https://nl01${port}` });

    expect(outcome(gateWith({ trustedProxies }), request)).toBe(expected);
  });

  it('count with HTTP for a named proxy, too, where tokens may arrive that way', () => {
    const request = requestFrom('192.0.2.10', { origin: 'http://pool.example.org' });

    expect(outcome(gateWith({ names, insecureTokens: true }), request)).toBe('192.0.2.10');
    expect(outcome(gateWith({ names }), request)).toBe('wrong-origin');
  });
});
