import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Ground, startGround } from '../harness.js';
import { LauncherProcess } from '../launcher-process.js';
import { openSession } from '../session.js';
import { ZuulClient } from '../zuul-client.js';

const FILE = new URL('../../../packages/core/test/fixtures/old-file.yaml', import.meta.url);

let ground: Ground;
let launcher: LauncherProcess | undefined;

beforeAll(async () => {
  ground = await startGround();
});

afterAll(async () => {
  await launcher?.stop();
  await ground.zk.close();
  await ground.zookeeper.stop();
  await rm(ground.dir, { recursive: true });
});

it('a launcher serves requests with a configuration file that is years old and warns about its mistakes', async () => {
  const config = await readFile(FILE, 'utf8');
  const env = { NODEPOOL_ZK_PORT: String(ground.zookeeper.plainPort) };
  launcher = await LauncherProcess.start(join(ground.dir, 'old'), 'old-file', config, env);
  await launcher.whenReady();
  const zuul = new ZuulClient(await openSession(ground.zookeeper));

  const numbered = await zuul.getNode('16');
  const host = await zuul.getNode('bionic');

  expect(numbered.body).toMatchObject({ provider: 'sim', type: ['16'], attributes: { 1: 'one', true: true } });
  expect(['sim', 'rack']).toContain(host.body['provider']);
  expect(launcher.log).toMatch(/Configuration warning .*labels\[0\]\.name .*taken as \\?"16\\?".* line=13 column=11/);
  expect(launcher.log).toMatch(/is already defined in line 33, the last one counts.* line=36 column=11/);
  await zuul.giveBack([numbered, host]);
  await zuul.zk.close();
});
