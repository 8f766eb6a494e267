import type { Socket } from 'node:net';
import type { CipherAlgorithm, ClientErrorExtensions, ConnectConfig, KexAlgorithm } from 'ssh2';
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
  /** Why there is no key. */
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
    const reader = new KexInitReader();
    let key: string | undefined;
    let offered: readonly string[] | undefined;
    const end = (error: Error | undefined) => {
      socket.destroy();
      resolve({ key: error ? undefined : key, offered, error });
    };

    socket.on('data', (chunk: Buffer) => {
      const types = reader.push(chunk);
      if (types === undefined) return;
      offered = types;
      onOffer(types);
    });
    // The first error is the cause; later ones are consequences, and resolving again has no effect.
    client.on('error', (error: Error & ClientErrorExtensions) => end(error));
    client.once('close', () => end(new Error('the connection was closed during the handshake')));
    client.once('handshake', () => end(key === undefined ? new Error('the server sent no host key') : undefined));
    if (socket.destroyed) {
      end(new Error('the connection was closed before the handshake'));
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

const SSH_MSG_KEXINIT = 20;
const COOKIE_LENGTH = 16;
/** Identification line plus the longest packet that a server may send before the key exchange. */
const LONGEST_GREETING = 64 * 1024;

/**
 * Reads the list of host key types out of the first, unencrypted bytes an SSH server sends: its identification line,
 * possibly after other lines, then its key exchange proposal (RFC 4253, 4.2, 6 and 7.1).
 */
export class KexInitReader {
  #received = Buffer.alloc(0);
  #done = false;

  /**
   * Takes the next bytes.
   * @returns the types, once; `undefined` if more bytes are needed or if this is not SSH
   */
  push(chunk: Buffer): string[] | undefined {
    if (this.#done) return undefined;
    this.#received = Buffer.concat([this.#received, chunk]);
    const types = parseHostKeyTypes(this.#received);
    if (types !== undefined || this.#received.length > LONGEST_GREETING) {
      this.#done = true;
      this.#received = Buffer.alloc(0);
    }
    return types;
  }
}

function parseHostKeyTypes(bytes: Buffer): string[] | undefined {
  const packetStart = endOfIdentification(bytes);
  if (packetStart === undefined || bytes.length < packetStart + 5) return undefined;
  const packetLength = bytes.readUInt32BE(packetStart);
  if (bytes.length < packetStart + 4 + packetLength) return undefined;
  const payload = bytes.subarray(packetStart + 5, packetStart + 4 + packetLength);
  if (payload[0] !== SSH_MSG_KEXINIT) return undefined;
  const keyExchanges = nameListAt(payload, 1 + COOKIE_LENGTH);
  return keyExchanges && nameListAt(payload, keyExchanges.end)?.names;
}

function endOfIdentification(bytes: Buffer): number | undefined {
  let lineStart = 0;
  for (;;) {
    const newline = bytes.indexOf(0x0a, lineStart);
    if (newline < 0) return undefined;
    if (bytes.toString('latin1', lineStart, lineStart + 4) === 'SSH-') return newline + 1;
    lineStart = newline + 1;
  }
}

function nameListAt(payload: Buffer, offset: number): { names: string[]; end: number } | undefined {
  if (payload.length < offset + 4) return undefined;
  const end = offset + 4 + payload.readUInt32BE(offset);
  if (payload.length < end) return undefined;
  const text = payload.toString('latin1', offset + 4, end);
  return { names: text === '' ? [] : text.split(','), end };
}
