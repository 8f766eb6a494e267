import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startSshd, type SshdHandle } from '@nodepool/test-servers';
import { systemLookup } from '@nodepool/core/ssh';
import { systemClock, type Clock } from '@nodepool/zk-protocol';
import { entry, useWorlds } from '../test/world.js';

const WAIT = { timeout: 50_000, interval: 50 };
const openWorld = useWorlds();
/** The system clock with short pauses between two checks. */
const fastClock: Clock = {
  now: () => systemClock.now(),
  setTimer: (ms, fn) => systemClock.setTimer(ms % 1_750 === 0 ? 100 : ms, fn),
};

let sshd: SshdHandle;
beforeAll(async () => {
  sshd = await startSshd({ count: 1, keyTypes: ['ed25519'] });
});
afterAll(() => sshd.stop());

/** Part of an SSH message: a length, then the text. */
function text(content: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, Buffer.from(content)]);
}

/** What an SSH server says first that knows these methods only. */
function proposal({ exchange = 'curve25519-sha256', key = 'ssh-ed25519' }): Buffer {
  const others = ['aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', ''];
  const lists = [exchange, key, ...others].map(text);
  const payload = Buffer.concat([Buffer.from([20]), Buffer.alloc(16), ...lists, Buffer.alloc(5)]);
  const padding = 16 - ((payload.length + 5) % 8);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(payload.length + 1 + padding);
  header[4] = padding;
  return Buffer.concat([Buffer.from('SSH-2.0-OpenSSH_10.0\r\n'), header, payload, Buffer.alloc(padding)]);
}

/** How a server answers that is to be repaired, by the reason that it is reported with. */
const BROKEN: [reason: string, step: RegExp, answer: (socket: Socket) => void][] = [
  ['HostKeyTypeUnknown', /^run ssh-keygen -A on /, (socket) => socket.end(proposal({ key: 'none-known' }))],
  [
    'SshMethodUnknown',
    /^add a method to "KexAlgorithms"/,
    (socket) => socket.write(proposal({ exchange: 'none-known' })),
  ],
  ['Refused', /^add the address of this launcher to /, (socket) => socket.end('Not allowed at this time\r\n')],
  [
    'NotSsh',
    /^check that the SSH server of .* listens on "connection-port"/,
    (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n'),
  ],
];

// Ends: HostUnusable HostKeyTypeUnknown, HostUnusable NotSsh, HostUnusable Refused, HostUnusable SshMethodUnknown
it.each(BROKEN)('a host is reported as %s until its SSH server is repaired', async (reason, step, answer) => {
  const [host] = sshd.hosts;
  if (!host) throw new Error('there is no host');
  await host.stop();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    answer(socket);
  });
  server.listen(host.port, host.address);
  await once(server, 'listening');
  const { configure } = await openWorld({ lookup: systemLookup, clock: fastClock });
  const node = { name: host.address, 'connection-port': host.port, labels: ['small'], timeout: 2 };
  const provider = await configure(entry([node]));

  onTestFinished(() => void server.close());
  await expect.poll(() => provider.conditions(), WAIT).toMatchObject([{ type: 'HostUnusable', reason }]);
  expect(provider.conditions()[0]?.nextStep).toMatch(step);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  await host.start();

  await expect.poll(() => provider.conditions(), WAIT).toEqual([]);
  expect(provider.hosts()).toMatchObject([{ health: 'up' }]);
});
