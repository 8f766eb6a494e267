import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findSocket, IncusApi } from './incus-api.js';

let directory = '';
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'quickstart-incus-'))));
afterEach(() => rm(directory, { recursive: true }));

describe('the socket', () => {
  it('is that of the environment, else a usual one that exists', async () => {
    const [usual, own] = [join(directory, 'usual'), join(directory, 'unix.socket')];
    await writeFile(usual, '');
    await writeFile(own, '');

    expect(findSocket({}, ['/nowhere', usual])).toBe(usual);
    expect(findSocket({ LXD_DIR: directory }, [usual])).toBe(own);
    expect(findSocket({ INCUS_SOCKET: usual, INCUS_DIR: directory }, [])).toBe(usual);
  });

  it('is missed in one line that says where it was sought and what to install', () => {
    expect(() => findSocket({ LXD_DIR: '/none' }, ['/nowhere'])).toThrow(
      /^--incus needs an Incus or LXD .*: there is no socket at \/none\/unix\.socket, \/nowhere: install one \(Debian 12: /,
    );
  });
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

  it('says why it was refused, or that no daemon answers', async () => {
    const api = await daemon({ 'POST /1.0/projects?project=mine': [403, { type: 'error', error: 'restricted' }] });
    const none = new IncusApi(join(directory, 'none'), 'mine');

    await expect(api.call('POST', '/projects', {})).rejects.toThrow('POST /projects: restricted');
    await expect(none.call('GET', '')).rejects.toThrow(/no daemon answers at unix:.*: is Incus or LXD running\?/);
  });
});
