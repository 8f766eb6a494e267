import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import ssh2 from 'ssh2';

/** An ed25519 key pair in OpenSSH's form. */
export interface KeyPair {
  readonly private: string;
  /** `<type> <base64>`. */
  readonly public: string;
}

const PROBE = 'nodepool';

/** Now and then ssh2 makes an ed25519 key that it cannot read back or that does not fit its public half. */
function isUsable(pair: { private: string; public: string }): boolean {
  const [secret, open] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
  if (secret instanceof Error || open instanceof Error) return false;
  return open.verify(PROBE, secret.sign(PROBE)) === true;
}

/** A new ed25519 pair. ssh2 makes some that it cannot read back itself; those are thrown away. */
export function generateUsable(): { private: string; public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (isUsable(pair)) return pair;
  }
}

/** The key pair kept in a file and its `.pub`, made at the first use. */
export function keyPairAt(file: string): KeyPair {
  if (!existsSync(file)) {
    const made = generateUsable();
    writeFileSync(`${file}.pub`, `${made.public}\n`, { mode: 0o644 });
    writeFileSync(`${file}.new`, made.private, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  const [type = '', base64 = ''] = readFileSync(`${file}.pub`, 'utf8').split(/\s+/);
  return { private: readFileSync(file, 'utf8'), public: `${type} ${base64}` };
}

/** Keys as they stand in `authorized_keys`; what is none is left out. */
export function parsePublicKeys(texts: readonly string[]): ssh2.ParsedKey[] {
  return texts.flatMap((text) => {
    const key = ssh2.utils.parseKey(text);
    return key instanceof Error ? [] : [key];
  });
}
