import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import ssh2 from 'ssh2';

/** An ed25519 key pair in OpenSSH's form. */
export interface KeyPair {
  readonly private: string;
  /** `<type> <base64>`. */
  readonly public: string;
}

const PROBE = 'nodepool';

/** About one in 256 ed25519 pairs of ssh2 cannot be parsed, or its halves do not match. */
function isUsable(pair: { private: string; public: string }): boolean {
  const [secret, open] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
  if (secret instanceof Error || open instanceof Error) return false;
  return open.verify(PROBE, secret.sign(PROBE)) === true;
}

/** Generates ed25519 pairs until one is usable. */
export function generateUsable(): { private: string; public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (isUsable(pair)) return pair;
  }
}

/** The key pair in a file and its `.pub`, generated at first use. */
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

/** Parses keys in the format of `authorized_keys`; skips invalid ones. */
export function parsePublicKeys(texts: readonly string[]): ssh2.ParsedKey[] {
  return texts.flatMap((text) => {
    const key = ssh2.utils.parseKey(text);
    return key instanceof Error ? [] : [key];
  });
}
