import type { Socket } from 'node:net';
import type { CipherAlgorithm, ClientErrorExtensions, ConnectConfig, KexAlgorithm } from 'ssh2';
import { HandshakeError } from './errors.js';
import { GreetingReader, methodNames, type KexOffer } from './greeting.js';
import type { KeyType } from './key-types.js';

/** Also accepted, for old devices: nothing secret is sent over these connections. */
const OLD_KEY_EXCHANGES: KexAlgorithm[] = [
  'diffie-hellman-group-exchange-sha1',
  'diffie-hellman-group14-sha1',
  'diffie-hellman-group1-sha1',
];
const OLD_CIPHERS: CipherAlgorithm[] = ['aes256-cbc', 'aes192-cbc', 'aes128-cbc', '3des-cbc'];

/** Result of an SSH handshake. */
export interface HandshakeResult {
  /** `<type> <base64>`; `undefined` when the handshake failed. The server has proved that it owns the key. */
  key: string | undefined;
  /** Host key types that the server offers; `undefined` if the connection ended before its offer. */
  offered: readonly string[] | undefined;
  /** Why there is no key. Nothing in its message is text of the machine. */
  error: Error | undefined;
}

/** Runs the key exchange only; the socket is destroyed before a login. Never rejects. */
export async function readHostKey(
  socket: Socket,
  keyTypes: readonly KeyType[],
  onOffer: (offered: readonly string[]) => void,
): Promise<HandshakeResult> {
  // loaded on first use: it is the slowest import, and not every process scans
  const { default: ssh2 } = await import('ssh2');
  return new Promise((resolve) => {
    const client = new ssh2.Client();
    const greeting = new GreetingReader();
    let key: string | undefined;
    let offer: KexOffer | undefined;
    const end = (error: Error | undefined) => {
      socket.destroy();
      resolve({ key: error ? undefined : key, offered: offer?.hostKeys, error });
    };
    const fail = (error?: Error & ClientErrorExtensions) => end(ownError(error, greeting, offer));

    socket.on('data', (chunk: Buffer) => {
      const found = greeting.push(chunk);
      if (found === undefined) return;
      offer = found;
      onOffer(found.hostKeys);
    });
    // The first error is the cause; later ones are consequences, and resolving again has no effect.
    client.on('error', fail);
    client.once('close', () => fail());
    client.once('handshake', () => (key === undefined ? fail() : end(undefined)));
    if (socket.destroyed) {
      end(new HandshakeError('the connection was closed before the handshake'));
      return;
    }
    try {
      client.connect(keyExchange(socket, keyTypes, (blob) => (key = formatKey(blob))));
    } catch (error) {
      end(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/** A connection that accepts every host key and reports it. */
function keyExchange(socket: Socket, keyTypes: readonly KeyType[], onKey: (blob: Buffer) => void): ConnectConfig {
  return {
    sock: socket,
    username: 'nodepool',
    readyTimeout: 0,
    algorithms: {
      serverHostKey: [...keyTypes],
      kex: { append: OLD_KEY_EXCHANGES, prepend: [], remove: [] },
      cipher: { append: OLD_CIPHERS, prepend: [], remove: [] },
    },
    hostVerifier: (blob: Buffer) => {
      onKey(blob);
      return true;
    },
  };
}

/** A public key blob starts with its own type, which for RSA is `ssh-rsa` whatever the signature. */
function formatKey(blob: Buffer): string {
  const type = blob.toString('latin1', 4, 4 + blob.readUInt32BE(0));
  return `${type} ${blob.toString('base64')}`;
}

/** Lists of methods, by what the library says when it knows none of one. */
const NO_COMMON: readonly (readonly [RegExp, string, keyof KexOffer])[] = [
  [/no matching key exchange algorithm/i, 'key exchange', 'keyExchanges'],
  [/no matching .*cipher/i, 'cipher', 'ciphers'],
  [/no matching .*MAC/i, 'MAC', 'macs'],
];

/** The error of a connection in our words: the library's message may be one of the server, such as that of a disconnection. */
function ownError(
  error: (Error & ClientErrorExtensions) | undefined,
  greeting: GreetingReader,
  offer: KexOffer | undefined,
): Error {
  // of this system, unless the server closed the connection without a word
  if (error?.level === 'client-socket' && (greeting.said !== '' || !('syscall' in error))) return error;
  const machineSaid = [greeting.said.trim(), error?.message ?? ''].filter((text) => text !== '').join('; ');
  const isRefusal = greeting.isRefusal;
  if (offer !== undefined && error?.level === 'handshake') {
    const found = NO_COMMON.find(([pattern]) => pattern.test(error.message));
    if (found) {
      const [, what, list] = found;
      const message = `this launcher knows no ${what} method of the server, which offers ${methodNames(offer[list])}`;
      return new HandshakeError(message, { machineSaid, isUnknownMethod: true });
    }
  }
  const isForeign = offer === undefined && !greeting.isIdentified && !isRefusal && greeting.said !== '';
  return new HandshakeError(stepText(greeting, offer), { machineSaid, isRefusal, isForeign });
}

/** What failed at which step. */
function stepText(greeting: GreetingReader, offer: KexOffer | undefined): string {
  if (offer !== undefined) return 'the server ended the key exchange, or it broke the protocol';
  if (greeting.isIdentified) return 'the server named itself, but sent no proper key exchange proposal';
  if (greeting.isRefusal) return REFUSED;
  if (greeting.said !== '') return 'the service on the port does not speak SSH';
  return CLOSED_EARLY;
}

/** An error of a connection that never was, which a server may have reset at once. */
export function connectError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  return 'code' in error && error.code === 'ECONNRESET' ? new HandshakeError(CLOSED_EARLY) : error;
}

const CLOSED_EARLY =
  'the connection was closed before the server named itself, as sshd does while it refuses an address ' +
  '(MaxStartups, PerSourcePenalties)';

const REFUSED =
  'sshd refuses connections of this address for now: too many at once (MaxStartups), or too many without a login ' +
  '(PerSourcePenalties)';
