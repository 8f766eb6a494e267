import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findSocket, IncusApi } from './incus-api.js';

let directory = '';
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'quickstart-incus-'))));
afterEach(() => rm(directory, { recursive: true }));

it('misses a daemon in one line that says where it was sought and what to install', () => {
  expect(() => findSocket({ LXD_DIR: '/none' })).toThrow(
    /^--incus: no Incus or LXD on this machine: there is no socket at \/none\/unix\.socket, .*: install one: LXD \(Debian 12: /,
  );
});

describe('a call', () => {
  /** A daemon with these answers. */
  async function daemon(answers: Record<string, [number, object]>): Promise<IncusApi> {
    const server = createServer((request, response) => {
      const [status, body] = answers[`${request.method} ${request.url}`] ?? [
        404,
        { type: 'error', error: 'not found' },
      ];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }).listen(join(directory, 'socket'));
    await once(server, 'listening');
    const api = new IncusApi(join(directory, 'socket'), 'mine');
    onTestFinished(async () => {
      await api.close();
      server.close();
    });
    return api;
  }

  it('returns the answer, or nothing for what is not there', async () => {
    const api = await daemon({ 'GET /1.0/images?recursion=1&project=mine': [200, { type: 'sync', metadata: [1] }] });

    expect(await api.call('GET', '/images?recursion=1')).toEqual([1]);
    expect(await api.call('GET', '/projects/other')).toBeUndefined();
  });

  it('waits for the end of an operation, and says why it failed', async () => {
    const api = await daemon({
      'DELETE /1.0/instances/a?project=mine': [202, { type: 'async', metadata: { id: 'x' } }],
      'GET /1.0/operations/x/wait?project=mine': [200, { type: 'sync', metadata: { err: 'it is busy' } }],
    });

    await expect(api.call('DELETE', '/instances/a')).rejects.toThrow('DELETE /instances/a: it is busy');
  });

  it('does not wait longer for a daemon that hangs than its time limits', async () => {
    const hanging = createServer((request, response) => {
      if (request.method === 'GET') return;
      const metadata = { id: 'x' };
      response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'async', metadata }));
    }).listen(join(directory, 'hanging'));
    await once(hanging, 'listening');
    const api = new IncusApi(join(directory, 'hanging'), 'mine', { answerMs: 100, operationMs: 200 });
    onTestFinished(async () => {
      await api.close();
      hanging.close();
    });

    await expect(api.call('GET', '/projects/mine')).rejects.toThrow(
      /^GET \/projects\/mine: no answer from unix:\S+ within 0\.1 s: it hangs; see its log, or restart it$/,
    );
    await expect(api.call('DELETE', '/instances/a')).rejects.toThrow(/^GET \/operations\/x\/wait: .* within 0\.2 s/);
  });

  it('says why it was refused, or that no daemon answers', async () => {
    const api = await daemon({ 'POST /1.0/projects?project=mine': [403, { type: 'error', error: 'restricted' }] });
    const none = new IncusApi(join(directory, 'none'), 'mine');

    await expect(api.call('POST', '/projects', {})).rejects.toThrow('POST /projects: restricted');
    await expect(none.call('GET', '')).rejects.toThrow(/no daemon answers at unix:.*: is Incus or LXD running\?/);
  });
});
