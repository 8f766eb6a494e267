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
