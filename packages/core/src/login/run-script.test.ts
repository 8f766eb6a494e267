import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { systemClock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SshHost } from '../../test/support/ssh-host.js';
import { runScript, type LoginOptions, type Script } from './run-script.js';

let host: SshHost;
let home: string;

beforeEach(async () => {
  home = await mkdtemp(`${tmpdir()}/nodepool-login-`);
  host = await SshHost.start(home);
});

afterEach(async () => {
  await host.stop();
  await rm(home, { recursive: true, force: true });
});

const script: Script = {
  command: 'echo noise; echo ready; read -r word; echo "got $word"; exit 3',
  ready: 'ready',
  input: 'hello\n',
};

function run(changes: Partial<LoginOptions> = {}, more: Partial<Script> = {}) {
  const { signal } = new AbortController();
  const options = { ...host.login, clock: systemClock, timeoutMs: 60_000, signal, ...changes };
  return runScript(options, { ...script, ...more });
}

describe('a script on a host', () => {
  it('gets its input once it is ready', async () => {
    const { code, output } = await run();
    expect({ code, output: output.toString() }).toEqual({ code: 3, output: 'noise\nready\ngot hello\n' });
  });

  it('gets no input if the check before it fails', async () => {
    const refusal = new Error('not wanted any more');
    await expect(run({}, { beforeSend: () => Promise.reject(refusal) })).rejects.toBe(refusal);
  });

  it('that never says it is ready ends the login', async () => {
    await expect(run({}, { command: 'exit 0' })).resolves.toMatchObject({ code: 0 });
    const refusal = { failure: 'no-answer', mayTakeEffect: false };
    await expect(run({ timeoutMs: 500 }, { command: 'exec sleep 60' })).rejects.toMatchObject(refusal);
  });

  it('may take effect when the connection breaks after the input was sent', async () => {
    const ends = run({}, { command: 'echo ready; read -r word; exec sleep 60' });
    const fails = expect(ends).rejects.toMatchObject({ failure: 'no-answer', mayTakeEffect: true });
    while (host.logins === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    setTimeout(() => void host.stop(), 1_000);
    await fails;
  });
});

describe('a login', () => {
  it('is refused at a host with another key than recorded, without the launcher having logged in', async () => {
    const { hostKeys } = host.login;
    await host.restartWithOtherKey();

    await expect(run({ hostKeys })).rejects.toMatchObject({ failure: 'host-key', code: 'NODEPOOL_SSH' });
    await expect(run({ hostKeys: [] })).rejects.toThrow(/no host key is recorded/);
    await expect(run({ hostKeys: ['ssh-ed25519 AAAA'] })).rejects.toMatchObject({ failure: 'no-answer' });
    expect(host.logins).toBe(0);
  });

  it('with a key that the host does not know says where to add it', async () => {
    host.acceptsLauncher = false;
    await expect(run()).rejects.toThrow(/refuses the launcher's key: add the public key to the authorized_keys of ci/);
  });

  it('at a host that is down, or says nothing, fails in time', async () => {
    await host.stop();
    await expect(run()).rejects.toMatchObject({
      failure: 'no-answer',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });

    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(host.login.port, '127.0.0.1', resolve));
    await expect(run({ timeoutMs: 300 })).rejects.toThrow(/no answer within 300 ms/);
    silent.close();
  });

  it('ends when it is aborted', async () => {
    const abort = new AbortController();
    const ends = run({ signal: abort.signal }, { command: 'exec sleep 60' });
    const fails = expect(ends).rejects.toThrow(/stopping/);
    while (host.logins === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    abort.abort(new Error('stopping'));
    await fails;
    await expect(run({ signal: AbortSignal.abort(new Error('stopping')) })).rejects.toThrow(/stopping/);
  });
});
