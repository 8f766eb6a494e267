import { expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { componentCreatePath, componentsPath, encodeComponent, newComponent } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { globalOptions } from '../command/global-options.js';
import { acquireNodes } from './acquire-from-zookeeper.js';
import { guardLaunchers, NO_LAUNCHER_MS } from './guard-launchers.js';

const STEP_MS = 1_000;

async function guarded() {
  const clock = new VirtualClock();
  const server = new MemoryServer(clock);
  const { zk } = connectInMemory(server, { clock });
  await clock.run(zk.ensurePath(componentsPath('launcher')));
  const options = globalOptions({ _: [], format: 'table' });
  const context = { clock, logger: silentLogger, env: {}, options };
  const guard = guardLaunchers(context, zk, 'Request 7');
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += STEP_MS) await clock.advance(STEP_MS);
  };
  const register = () => {
    const launcher = newComponent({ kind: 'launcher', hostname: 'nl01', version: '1', state: 'running' });
    return clock.run(
      zk.create(componentCreatePath('launcher', 'nl01'), encodeComponent(launcher), { sequential: true }),
    );
  };
  return { clock, context, zk, guard, pass, register };
}

it('says what is missing and what to do once no launcher has been there for five minutes', async () => {
  const { guard, pass } = await guarded();

  await pass(NO_LAUNCHER_MS - 10_000);
  expect(guard.gone.aborted).toBe(false);
  expect(guard.missing()).toMatch(/^no launcher has been registered for 290 s.*\. Start nodepool-launcher/);
  await pass(20_000);
  guard.end();

  expect(String(guard.gone.reason)).toMatch(
    /^CliError: Request 7 is not served; gave up: no launcher has been registered for 30[0-2] s, looked for every 2 s\. Start nodepool-launcher/,
  );
});

it('says nothing while launchers are restarted, however often', async () => {
  const { clock, zk, guard, pass, register } = await guarded();

  for (let restart = 0; restart < 3; restart++) {
    await pass(NO_LAUNCHER_MS - 20_000);
    const path = await register();
    await pass(10_000);
    expect(guard.missing()).toBeUndefined();
    await clock.run(zk.delete(path));
  }
  guard.end();

  expect(guard.gone.aborted).toBe(false);
});

it.each([
  [undefined, /^CliError: Request 200-\d+ for small is not served; gave up: no launcher has been registered for 30/],
  [
    60_000,
    /^CliError: Request 200-\d+ for small was not fulfilled within 60 s; gave up: no launcher has been registered/,
  ],
])('ends a request, after five minutes or at its time limit: %s', async (timeoutMs, text) => {
  const { context, zk, guard, pass } = await guarded();
  guard.end();
  const options = {
    ...{ labels: ['small'], provider: undefined, priority: 200, timeoutMs, quiet: true, force: false },
    ...{ sshKeyFile: undefined, purpose: 'test' },
    server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false },
  };

  const end = acquireNodes(context, zk, options, new AbortController().signal).catch(String);
  await pass(NO_LAUNCHER_MS + 10_000);

  expect(await end).toMatch(text);
});
