import { REQUESTS_ROOT } from '@nodepool/zk-protocol';
import { expect, it, vi } from 'vitest';
import { FakeLauncher } from '../../test/fake-launcher.js';
import { useWorld } from '../../test/world.js';
import { acquireNodes } from './acquire-from-zookeeper.js';
import type { AcquireOptions } from './acquire-options.js';

const get = useWorld();
const OPTIONS: AcquireOptions = {
  ...{
    labels: ['small'],
    provider: undefined,
    priority: 200,
    timeoutMs: undefined,
    quiet: true,
    force: false,
    sshKeyFile: undefined,
  },
  ...{ purpose: 'test', server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false } },
};

const acquire = async (changes: Partial<AcquireOptions> = {}, signal = new AbortController().signal) =>
  acquireNodes(get().context(), await get().connect(), { ...OPTIONS, ...changes }, signal);
const requests = () => get().zk.getChildren(REQUESTS_ROOT);

it('asks for nothing once it is interrupted', async () => {
  await expect(acquire({}, AbortSignal.abort(new Error('Ctrl-C')))).rejects.toThrow('Ctrl-C');

  expect(await requests()).toEqual([]);
});

it('takes the request back when it is interrupted', async () => {
  const abort = new AbortController();
  const acquiring = acquire({}, abort.signal);
  const outcome = expect(acquiring).rejects.toThrow('Ctrl-C');
  await new FakeLauncher(get().zk).nextRequest();

  abort.abort(new Error('Ctrl-C'));

  await outcome;
  expect(await requests()).toEqual([]);
});

it('takes the request back when the time is over', async () => {
  await expect(acquire({ timeoutMs: 20 })).rejects.toThrow(
    /^Request 200-\d+ for small was not fulfilled within 0.02 s; gave up$/,
  );

  expect(await requests()).toEqual([]);
});

it('takes the request back when it failed', async () => {
  const launcher = new FakeLauncher(get().zk);
  const outcome = expect(acquire()).rejects.toThrow('failed: no quota');

  await launcher.store(await launcher.nextRequest(), { state: 'failed', launchError: 'no quota' });

  await outcome;
  expect(await requests()).toEqual([]);
});

it('prints its progress on standard error unless it is quiet', async () => {
  const id = await get().createNode();
  let told = '';
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((told += String(text))));

  const [lease] = await Promise.all([acquire({ quiet: false }), new FakeLauncher(get().zk).fulfil([id])]);
  spy.mockRestore();

  expect(lease.nodes.map(({ node }) => node.id)).toEqual([id]);
  expect(told).toMatch(/s\] request 200-\d+ for small\n.*s\] fulfilled: \d+\n.*s\] nodes locked and in use\n$/s);
});
