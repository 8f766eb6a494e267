import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { tokenProof } from '@nodepool/core/service';
import type { DaemonService } from '@nodepool/daemon';
import {
  connect,
  encodeBuild,
  encodeUpload,
  buildPath,
  newBuild,
  newUpload,
  systemClock,
  uploadPath,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { createService } from './start-service.js';

const TOKEN = 'a-token-that-is-hard-to-guess';

let directory: string;
let zookeeper: EmbeddedServer;
let zk: ZooKeeper;
let service: DaemonService;

const get = async (path: string, accept = 'application/json', init: RequestInit = {}) => {
  const url = `http://127.0.0.1:${service.web?.port}${path}`;
  const response = await fetch(url, { ...init, headers: { accept, authorization: `Bearer ${TOKEN}` } });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

/** A build of another builder and its upload, which this builder leaves unchanged. */
async function addImage(): Promise<void> {
  const key = { image: 'debian', buildId: 'b1', provider: 'sky', id: '0000000001' };
  const build = newBuild(
    { image: 'debian', id: 'b1' },
    { state: 'ready', builder: 'other', builderId: 'x', formats: ['raw'] },
    0,
  );
  const upload = newUpload(key, { state: 'ready', externalName: 'debian-1', externalId: 'i-1' }, 0);
  const paths = [
    [buildPath('debian', 'b1'), encodeBuild(build)],
    [uploadPath('debian', 'b1', 'sky', '0000000001'), encodeUpload(upload)],
  ] as const;
  for (const [path, body] of paths) {
    await zk.ensurePath(path);
    await zk.setData(path, body);
  }
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-builder-web-'));
  zookeeper = await startEmbeddedServer({ dataDir: join(directory, 'zk') });
  await mkdir(join(directory, 'images'));
  const [host, port] = zookeeper.connectString.split(':');
  const configFile = join(directory, 'nodepool.yaml');
  const secureFile = join(directory, 'secure.yaml');
  await writeFile(
    configFile,
    `
builder-webapp: {port: 0}
zookeeper-servers: [{host: ${host}, port: ${port}}]
images-dir: ${join(directory, 'images')}
build-log-dir: ${join(directory, 'logs')}
diskimages: [{name: debian, pause: true}]
`,
  );
  await writeFile(secureFile, `api-tokens: [{name: alice, token: ${TOKEN}}]\n`);
  zk = await connect({ servers: zookeeper.connectString });
  await addImage();
  const files = { configFile, secureFile, logConfigFile: undefined, pidFile: join(directory, 'pid') };
  const others = { foreground: true, debug: false, webapp: true, stateDir: directory, drainTimeoutMs: 1000 };
  service = await createService({
    args: { ...files, ...others, buildWorkers: 1, uploadWorkers: 1 },
    ...{
      env: {},
      clock: systemClock,
      logger: silentLogger,
      version: '1.2.3',
      hostname: 'nb01',
      profileDirs: [directory],
    },
  });
  await service.start();
});

afterAll(async () => {
  await service.stop(5_000);
  await zk.close();
  await zookeeper.close();
  await rm(directory, { recursive: true });
});

describe('the web server of a builder', () => {
  it.each([
    ['/dib-image-list', ['id', 'image', 'builder', 'formats', 'state', 'age'], 'ID,Image,Builder,Formats,State,Age'],
    [
      '/image-list',
      ['id', 'upload_id', 'provider', 'image', 'external_name', 'external_id', 'state', 'age'],
      'Build ID,Upload ID,Provider,Image,Provider Image Name,Provider Image ID,State,Age',
    ],
    [
      '/image-status',
      ['image', 'paused', 'build_request', 'build_request_age'],
      'Image,Paused,Build Request,Build Request Age',
    ],
  ])('lists at %s what a launcher lists', async (path, members, columns) => {
    const json = await get(path);
    const [first = {}] = JSON.parse(json.text) as object[];
    const table = await get(path, '*/*');

    expect([json.status, json.type, table.type]).toEqual([200, 'application/json', 'text/plain; charset=UTF-8']);
    expect(Object.keys(first).slice(0, members.length)).toEqual(members);
    const header = (table.text.split('\n')[1] ?? '').split('|').slice(1, -1);
    expect(
      header
        .map((name) => name.trim())
        .slice(0, columns.split(',').length)
        .join(),
    ).toBe(columns);
  });

  it.each([
    ['no token', {}, 401],
    ['a wrong token', { authorization: 'Bearer guessed-guessed-guessed' }, 401],
    ['a token', { authorization: `Bearer ${TOKEN}` }, 200],
  ])('gives build logs to a request with %s the status %s', async (_, headers: Record<string, string>, status) => {
    const build = `debian-${'0'.repeat(32)}`;
    await writeFile(join(directory, 'logs', `${build}.log`), 'said');

    const response = await fetch(`http://127.0.0.1:${service.web?.port}/image-log?build=${build}`, { headers });

    expect(response.status).toBe(status);
    expect((await response.text()) === 'said').toBe(status === 200);
  });

  it('serves build logs to a client that proves it has a token without sending it', async () => {
    const build = `debian-${'1'.repeat(32)}`;
    await writeFile(join(directory, 'logs', `${build}.log`), 'said');
    const target = `/image-log?build=${build}`;
    const url = `http://127.0.0.1:${service.web?.port}${target}`;
    const challenge = (await fetch(url)).headers.get('www-authenticate') ?? '';
    const nonce = /Nodepool-Proof nonce="(\w+)"/.exec(challenge)?.[1] ?? '';

    const response = await fetch(url, {
      headers: { authorization: `Nodepool-Proof ${tokenProof(TOKEN, nonce, target)}` },
    });

    expect([response.status, await response.text()]).toEqual([200, 'said']);
  });

  it.each([
    ['', 400],
    [`?build=../logs/debian-${'0'.repeat(32)}`, 400],
    [`?build=debian-${'0'.repeat(32)}&offset=-1`, 400],
    [`?build=debian-${'f'.repeat(32)}`, 404],
  ])('answers /image-log%s with the status %s', async (query, status) => {
    const headers = { authorization: `Bearer ${TOKEN}` };

    expect((await fetch(`http://127.0.0.1:${service.web?.port}/image-log${query}`, { headers })).status).toBe(status);
  });

  it('is on loopback unless the configuration has another address', () => {
    expect(service.web?.host).toBe('127.0.0.1');
  });

  it('is ready once it builds', async () => {
    expect(await get('/ready')).toMatchObject({ status: 200, text: 'OK' });
  });

  it.each(['/node-list', '/request-list', '/label-list', '/api/v1/nodes'])('leaves %s to launchers', async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});

describe('the API of a builder', () => {
  it('shows images with builds and uploads', async () => {
    const images = JSON.parse((await get('/api/v1/images')).text) as unknown;

    expect(images).toMatchObject([
      { name: 'debian', builds: [{ id: 'b1', state: 'ready', uploads: [{ provider: 'sky', external_id: 'i-1' }] }] },
    ]);
  });

  it('describes itself', async () => {
    const document = JSON.parse((await get('/api/v1/openapi.json')).text) as { paths: object };

    expect(Object.keys(document.paths).sort()).toEqual([
      '/api/v1/builds',
      '/api/v1/conditions',
      '/api/v1/events',
      '/api/v1/images',
      '/api/v1/images/{name}/build',
      '/api/v1/overview',
      '/api/v1/token',
    ]);
  });

  it('asks for no build of an image that is paused', async () => {
    const answer = await get('/api/v1/images/debian/build', '*/*', { method: 'POST' });

    expect(answer.status).toBe(409);
    expect(answer.text).toContain('paused');
  });

  it('has the status page', async () => {
    const page = await get('/', 'text/html');

    expect([page.status, page.type]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<title>Nodepool</title>');
  });
});
