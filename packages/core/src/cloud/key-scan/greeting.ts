const SSH_MSG_KEXINIT = 20;
const COOKIE_LENGTH = 16;
/** Identification line plus the longest packet that a server may send before the key exchange. */
const LONGEST_GREETING = 64 * 1024;
/** Of the text before the key exchange, kept for the log. */
const LONGEST_SAID = 1024;
/** What sshd says instead of its identification to an address that it does not serve now. */
const REFUSAL = 'Not allowed at this time';

/** Methods that a server offers for a connection, in its own words. */
export interface KexOffer {
  readonly keyExchanges: readonly string[];
  readonly hostKeys: readonly string[];
  /** Towards the client. */
  readonly ciphers: readonly string[];
  /** Towards the client. */
  readonly macs: readonly string[];
}

/**
 * Reads the methods out of the first, unencrypted bytes an SSH server sends: its identification line, possibly after other
 * lines, then its key exchange proposal (RFC 4253, 4.2, 6 and 7.1).
 */
export class GreetingReader {
  #received = Buffer.alloc(0);
  #said = '';
  #isIdentified = false;
  #done = false;

  /** What the server said up to its identification, or the beginning of it. Text of the machine. */
  get said(): string {
    return this.#said;
  }

  /** Whether the server has said which SSH server it is. */
  get isIdentified(): boolean {
    return this.#isIdentified;
  }

  /** Whether it is an sshd that refuses this client for a while: too many connections at once, or a penalty. */
  get isRefusal(): boolean {
    return !this.#isIdentified && this.#said.startsWith(REFUSAL);
  }

  /**
   * Takes the next bytes.
   * @returns the methods, once; `undefined` if more bytes are needed or if this is not SSH
   */
  push(chunk: Buffer): KexOffer | undefined {
    if (this.#done) return undefined;
    this.#received = Buffer.concat([this.#received, chunk]);
    const packetStart = endOfIdentification(this.#received);
    this.#isIdentified = packetStart !== undefined;
    this.#said = this.#received.toString('utf8', 0, Math.min(packetStart ?? LONGEST_SAID, LONGEST_SAID));
    const offer = packetStart === undefined ? undefined : parseOffer(this.#received, packetStart);
    if (offer !== undefined || this.#received.length > LONGEST_GREETING) {
      this.#done = true;
      this.#received = Buffer.alloc(0);
    }
    return offer;
  }
}

function parseOffer(bytes: Buffer, packetStart: number): KexOffer | undefined {
  if (bytes.length < packetStart + 5) return undefined;
  const packetLength = bytes.readUInt32BE(packetStart);
  if (bytes.length < packetStart + 4 + packetLength) return undefined;
  const payload = bytes.subarray(packetStart + 5, packetStart + 4 + packetLength);
  if (payload[0] !== SSH_MSG_KEXINIT) return undefined;
  const lists: string[][] = [];
  for (let at = 1 + COOKIE_LENGTH; lists.length < 6;) {
    const list = nameListAt(payload, at);
    if (list === undefined) break;
    lists.push(list.names);
    at = list.end;
  }
  const [keyExchanges, hostKeys, , ciphers = [], , macs = []] = lists;
  return keyExchanges && hostKeys && { keyExchanges, hostKeys, ciphers, macs };
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

/** Names of methods as RFC 4251 and OpenSSH write them. */
const METHOD = /^[a-z0-9@.-]{1,64}$/;
const SHOWN_METHODS = 20;

/** Names that a server offers, for a message: text of the machine, so only what looks like a name of a method, and not many. */
export function methodNames(names: readonly string[]): string {
  const known = names.filter((name) => METHOD.test(name));
  const shown = known.slice(0, SHOWN_METHODS).join(', ') || '(none)';
  const hidden = names.length - Math.min(known.length, SHOWN_METHODS);
  return hidden === 0 ? shown : `${shown} and ${hidden} more`;
}
