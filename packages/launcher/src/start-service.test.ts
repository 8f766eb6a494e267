import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import type { LogFields, Logger } from '@nodepool/core';
import { embeddedSocket, findEmbeddedServer, readEmbeddedServerInfo } from '@nodepool/core/config';
import type { DaemonService } from '@nodepool/daemon';
import { createService } from './start-service.js';

const YAML = 'webapp:\n  port: 0\n  listen_address: 127.0.0.1\nlabels:\n  - name: small\n    min-ready: -1\n';

/** A port on loopback that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** What launchers have in the registry of an embedded server. */
async function registered(stateDir: string): Promise<unknown[]> {
  const found = await findEmbeddedServer([stateDir]);
  const zk = await connect({ ...found, servers: found?.servers ?? '' });
  const root = '/nodepool/components/launcher';
  const ids = await zk.getChildren(root);
  const bodies = await Promise.all(ids.map((id) => zk.getData(`${root}/${id}`)));
  await zk.close();
  return bodies.map(({ data }) => JSON.parse(data.toString()) as unknown);
}

describe('launcher service without zookeeper-servers', () => {
  let directory: string;
  let configFile: string;
  let service: DaemonService;

  const create = (logger: Logger = silentLogger) =>
    createService({
      args: {
        configFile,
        secureFile: undefined,
        logConfigFile: undefined,
        pidFile: join(directory, 'pid'),
        foreground: true,
        debug: false,
        webapp: true,
        stateDir: join(directory, 'state'),
        drainTimeoutMs: 1000,
        announceLegacy: false,
      },
      env: {},
      clock: systemClock,
      logger,
      version: '1.2.3',
      hostname: 'nl01.example.com',
      profileDirs: [directory],
    });
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${service.web?.port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const health = async () => JSON.parse((await get('/healthz')).text) as Record<string, unknown>;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nodepool-launcher-'));
    configFile = join(directory, 'nodepool.yaml');
    await writeFile(configFile, YAML);
    service = await create();
  });
  afterEach(async () => {
    await service.stop(1000);
    await rm(directory, { recursive: true });
  });

  it('serves programs of its user on a socket, and on no port', async () => {
    const stateDir = join(directory, 'state');
    const found = await findEmbeddedServer([stateDir]);
    const member = await connect({ ...found, servers: found?.servers ?? '' });

    const children = await member.getChildren('/');
    await member.close();

    expect(children).toContain('zookeeper');
    expect(readEmbeddedServerInfo(stateDir)).toEqual({ socket: embeddedSocket(stateDir), pid: process.pid });
    expect((await stat(embeddedSocket(stateDir))).mode & 0o777).toBe(0o600);
    await expect(stat(join(stateDir, 'embedded-zookeeper.login'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('demands a login on the port that the configuration asks for', async () => {
    await service.stop(1000);
    const wanted = await freePort();
    await writeFile(configFile, `${YAML}embedded-zookeeper-port: ${wanted}\n`);
    service = await create();
    const stateDir = join(directory, 'state');
    const { port = 0 } = readEmbeddedServerInfo(stateDir) ?? {};
    const auth = (await readFile(join(stateDir, 'embedded-zookeeper.login'), 'utf8')).trim();
    const stranger = await connect({ servers: `127.0.0.1:${port}` });
    const member = await connect({ servers: `127.0.0.1:${port}`, auth: [{ scheme: 'digest', auth }] });

    const refused = await stranger.setData('/', 'x').catch((error: unknown) => error);
    const children = await member.getChildren('/');
    await Promise.all([stranger.close(), member.close()]);

    expect(port).toBe(wanted);
    expect(refused).toMatchObject({ code: 'ZK_NO_AUTH' });
    expect(children).toContain('zookeeper');
  });

  it('keeps no records where every user may write, and programs do not look for a login there', async () => {
    await service.stop(1000);
    const [state, victim] = [join(directory, 'state'), join(directory, 'victim')];
    await chmod(state, 0o1777);
    await expect(create()).rejects.toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });

    await rename(join(state, 'zookeeper'), victim);
    await symlink(victim, join(state, 'zookeeper'));
    await writeFile(join(state, 'embedded-zookeeper.json'), '{"host": "127.0.0.1", "port": 1, "pid": 1}');
    await expect(findEmbeddedServer([state])).rejects.toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });

    await chmod(state, 0o755);
    service = await create();
  });

  it('serves every user if configured, and refuses a second launcher', async () => {
    await service.stop(1000);
    await writeFile(configFile, `${YAML}embedded-zookeeper-access: anyone\n`);
    service = await create();
    const { port = 0 } = readEmbeddedServerInfo(join(directory, 'state')) ?? {};
    const anyone = await connect({ servers: `127.0.0.1:${port}` });

    const children = await anyone.getChildren('/');
    await anyone.close();

    expect(children).toContain('zookeeper');
    await expect(create()).rejects.toMatchObject({
      code: 'NODEPOOL_STATE_DIR',
      message: expect.stringMatching(/in use by the server in process \d+.*its own --state-dir/) as string,
    });
    expect(readEmbeddedServerInfo(join(directory, 'state'))).toMatchObject({ port });
  });

  it('explains what would become of labels once it has read everything', async () => {
    const before = await get('/explain?label=small');
    await service.start();
    const after = await get('/explain?label=small');

    expect(before.status).toBe(503);
    expect(after.status).toBe(200);
    expect(after.text).toContain('A request for these labels would wait for a launcher: no pool is registered');
  });

  it('answers before it is ready, and is ready once started', async () => {
    const before = await get('/ready');
    await service.start();
    const after = await get('/ready');

    expect(before.status).toBe(500);
    expect(before.text).toContain('Not ready');
    expect(after).toEqual({ status: 200, text: 'OK' });
    expect(await health()).toMatchObject({ status: 'ok', version: '1.2.3', not_ready: [] });
  });

  it('makes its embedded server known while it runs', async () => {
    const running = readEmbeddedServerInfo(join(directory, 'state'));
    await service.start();
    await service.stop(1000);

    expect(running).toMatchObject({ pid: process.pid });
    expect(readEmbeddedServerInfo(join(directory, 'state'))).toBeUndefined();
  });

  it('stays ready with the old configuration while the new one is not valid', async () => {
    await service.start();

    await writeFile(configFile, `${YAML}providers: 5\n`);
    await service.reload();
    const broken = { ready: await get('/ready'), health: await health() };
    await writeFile(configFile, YAML);
    await service.reload();

    expect(broken.ready.status).toBe(200);
    expect(broken.health).toMatchObject({
      status: 'degraded',
      config: { error: expect.stringMatching(/nodepool\.yaml:7/) as string },
      conditions: [{ kind: 'configuration', name: configFile, type: 'ConfigurationNotLoaded' }],
    });
    // an answer may be a second old
    await expect.poll(health).toMatchObject({ status: 'ok', config: { error: null }, conditions: [] });
  });

  it('shows a condition in all interfaces until it ends', async () => {
    await service.start();

    await writeFile(configFile, `${YAML}  - name: huge\n`);
    await service.reload();
    const expected = {
      kind: 'label',
      name: 'huge',
      type: 'NotServed',
      severity: 'error',
      reason: 'NoPool',
      status: 'true',
    };
    const degraded = await health();
    const api = JSON.parse((await get('/api/v1/conditions')).text) as unknown[];
    const overview = JSON.parse((await get('/api/v1/overview')).text) as Record<string, unknown>;
    const metrics = (await get('/metrics')).text;
    const [entry] = await registered(join(directory, 'state'));
    await writeFile(configFile, YAML);
    await service.reload();

    expect(degraded).toMatchObject({ status: 'degraded', conditions: [expected] });
    expect(api).toMatchObject([{ ...expected, services: ['launcher nl01'] }]);
    expect(overview).toMatchObject({ status: 'degraded', conditions: [expected] });
    expect(metrics).toContain(
      'nodepool_condition{kind="label",name="huge",type="NotServed",reason="NoPool",severity="error"} 1',
    );
    expect(entry).toMatchObject({ conditions: [expected] });
    await expect.poll(health).toMatchObject({ status: 'ok', conditions: [] });
  });

  it('shows clients without a token the position of a configuration error, but no values', async () => {
    await service.start();

    await writeFile(
      configFile,
      `${YAML}zookeeper-digest: {password: s3cret-value}\nproviders: [{name: p, driver: dr1ver-value}]\n`,
    );
    await service.reload();
    const { text } = await get('/healthz');

    expect(text).toMatch(/nodepool\.yaml:\d+:\d+/);
    expect(text).not.toMatch(/s3cret|dr1ver/);
  });

  it('shows its metrics in the text format of Prometheus', async () => {
    await service.start();

    const response = await fetch(`http://127.0.0.1:${service.web?.port}/metrics`);
    const text = await response.text();

    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^nodepool_build_info\{version="1\.2\.3"\} 1$/m);
    expect(text).toMatch(/^nodepool_zookeeper_connected 1$/m);
    expect(Number(/^process_resident_memory_bytes (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(1e6);
    expect(Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
  });

  it('writes its state at debug level, as nodepool.stack_dump', async () => {
    const lines: string[] = [];
    const files: unknown[] = [];
    const write = (level: string) => (message: string, fields?: LogFields) => {
      lines.push(`${name} ${level} ${message}`);
      if (fields?.['file'] !== undefined) files.push(fields['file']);
    };
    let name = '';
    const logger: Logger = {
      ...{ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
      child: (_fields, child) => {
        name = child ?? name;
        return logger;
      },
    };
    await service.stop(1000);
    service = await create(logger);
    await service.start();
    lines.length = 0;

    await service.dump();
    await service.dump();
    for (const file of files) await rm(String(file));

    expect(lines.filter((line) => line.startsWith('stack_dump debug zookeeper: '))).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith('stack_dump info '))).toEqual([
      'stack_dump info State is in the debug log; CPU profile started, the next SIGUSR2 writes it',
      'stack_dump info CPU profile written',
    ]);
  });

  it('stops even if it never came to start', async () => {
    await service.stop(1000);

    expect(service.web).toBeUndefined();
  });
});
