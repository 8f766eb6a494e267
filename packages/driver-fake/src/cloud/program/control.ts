import { systemClock } from '@nodepool/zk-protocol';
import type { CloudInstance } from '../model/types.js';
import { CloudFailure } from '../model/types.js';
import { addressOf } from '../client/address.js';
import { HttpClient } from '../client/http-client.js';
import type { ControlCommand } from './arguments.js';
import type { Terminal } from './terminal.js';

/** How long a server that runs takes at the most. */
const TIMEOUT_MS = 10_000;

/** Makes one call of the running server and prints what it says. */
export async function control(command: ControlCommand, terminal: Terminal): Promise<number> {
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
    if (!done) terminal.complain(`there is no instance ${id}`);
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
      const leaked: CloudInstance = await client.call('leak', { metadata: command.metadata }, signal);
      terminal.print(leaked.id);
      return 0;
    }
    case 'stop':
      await client.request('stop', null, signal);
      return 0;
  }
}
