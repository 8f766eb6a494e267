import { rmSync } from 'node:fs';
import { systemClock } from '@nodepool/zk-protocol';
import { addressOf, ensureCloudDir } from '../client/address.js';
import { HttpClient } from '../client/http-client.js';
import { CloudFailure } from '../model/types.js';
import { lockCloudDir } from '../server/lock.js';
import { CloudServer } from '../server/server.js';
import { SshEndpoints } from '../server/ssh-endpoints.js';
import { parseCommand, USAGE, UsageError } from './arguments.js';
import type { ControlCommand, ServeCommand } from './arguments.js';

/** Time limit of a call. */
const TIMEOUT_MS = 10_000;

/** The process of the program. */
export interface Terminal {
  print(text: string): void;
  printError(text: string): void;
  /** Calls `stop` when the process receives a termination signal. */
  onStop(stop: () => void): void;
}

/** Runs `nodepool-fake-cloud`. Resolves to the exit status. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const command = parseCommand(args);
    if (command.name === 'help') {
      terminal.print(USAGE);
      return 0;
    }
    if (command.name === 'serve') return await serve(command, terminal);
    return await control(command, terminal);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    terminal.printError(error instanceof UsageError ? `${message}\nTry 'nodepool-fake-cloud --help'.` : message);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Runs the server until it is stopped. Returns at once if another process serves the directory. */
async function serve({ dir, listen, idleTimeoutMs }: ServeCommand, terminal: Terminal): Promise<number> {
  ensureCloudDir(dir);
  const address = addressOf(dir, listen);
  const unlock = lockCloudDir(dir);
  if (!unlock) {
    terminal.print(`another process serves the cloud in ${dir}`);
    return 0;
  }
  try {
    // Remove the socket of a killed server; the lock of the directory makes this safe.
    if ('path' in address) rmSync(address.path, { force: true });
    const server = await CloudServer.start({
      ...{ dir, address, idleTimeoutMs, clock: systemClock, random: Math.random },
      endpoints: new SshEndpoints(dir),
    });
    terminal.onStop(() => void server.stop());
    terminal.print(`serving the cloud in ${dir}, ${server.cloud.usage.instances} instance(s)`);
    await server.ended;
    return 0;
  } finally {
    unlock();
  }
}

/** Makes one call to the running server and prints the answer. */
async function control(command: ControlCommand, terminal: Terminal): Promise<number> {
  const { dir, listen } = command;
  const client = new HttpClient({ address: addressOf(dir, listen), clock: systemClock });
  try {
    return await run(command, client, terminal, AbortSignal.timeout(TIMEOUT_MS));
  } catch (error) {
    if (!(error instanceof CloudFailure && error.kind === 'unavailable')) throw error;
    throw new Error(`no server of a fake cloud answers in ${dir}: is a launcher using this cloud?`, { cause: error });
  } finally {
    client.close();
  }
}

async function run(
  command: ControlCommand,
  client: HttpClient,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const found = (done: boolean, id: string): number => {
    if (!done) terminal.printError(`there is no instance ${id}`);
    return done ? 0 : 1;
  };
  switch (command.name) {
    case 'show':
      terminal.print(JSON.stringify(await client.call('show', null, signal), null, 2));
      return 0;
    case 'list':
      for (const instance of await client.call('list', null, signal)) terminal.print(JSON.stringify(instance));
      return 0;
    case 'set':
      await client.call('set', { path: command.path, value: command.value }, signal);
      return 0;
    case 'kill':
      return found(await client.call('kill', command.id, signal), command.id);
    case 'break':
      return found(await client.call('breakDown', command.id, signal), command.id);
    case 'hide':
      return found(await client.call('hide', { id: command.id, forMs: command.forMs }, signal), command.id);
    case 'leak': {
      const leaked = await client.call('leak', { metadata: command.metadata }, signal);
      terminal.print(leaked.id);
      return 0;
    }
    case 'stop':
      await client.request('stop', null, signal);
      return 0;
  }
}
