import { systemClock } from '@nodepool/zk-protocol';
import type { CloudInstance } from '../model/types.js';
import { addressOf } from '../server/address.js';
import { SocketTransport } from '../server/socket-transport.js';
import type { ControlCommand } from './arguments.js';
import type { Terminal } from './terminal.js';

/** How long a server that runs takes at the most. */
const TIMEOUT_MS = 10_000;

/** Makes one call of the running server and prints what it says. */
export async function control(command: ControlCommand, terminal: Terminal): Promise<number> {
  const { dir, listen } = command;
  const transport = new SocketTransport({
    address: addressOf(dir, listen),
    clock: systemClock,
    revive: () => {
      refused.abort(new Error(`no server of a fake cloud answers in ${dir}: is a launcher using this cloud?`));
    },
  });
  const refused = new AbortController();
  const signal = AbortSignal.any([refused.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    await transport.ready(signal);
    return await run(command, transport, terminal, signal);
  } finally {
    transport.close();
  }
}

async function run(
  command: ControlCommand,
  transport: SocketTransport,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const found = (done: boolean, id: string): number => {
    if (!done) terminal.complain(`there is no instance ${id}`);
    return done ? 0 : 1;
  };
  switch (command.name) {
    case 'show':
      terminal.print(JSON.stringify(await transport.call('show', null, signal), null, 2));
      return 0;
    case 'list':
      for (const instance of await transport.call('list', null, signal)) terminal.print(JSON.stringify(instance));
      return 0;
    case 'set':
      await transport.call('set', { path: command.path, value: command.value }, signal);
      return 0;
    case 'kill':
      return found(await transport.call('kill', command.id, signal), command.id);
    case 'break':
      return found(await transport.call('breakDown', command.id, signal), command.id);
    case 'hide':
      return found(await transport.call('hide', { id: command.id, forMs: command.forMs }, signal), command.id);
    case 'leak': {
      const leaked: CloudInstance = await transport.call('leak', { metadata: command.metadata }, signal);
      terminal.print(leaked.id);
      return 0;
    }
    case 'stop':
      await transport.request('stop', null, signal);
      return 0;
  }
}
