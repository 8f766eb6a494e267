import { statSync } from 'node:fs';
import type { CloudAuth } from './types.js';

/** Current credentials of the files. */
export interface Credentials {
  readonly auth: CloudAuth;
  /** Changes whenever the files may have changed. */
  readonly stamp: string;
}

/** Reads the credentials of a cloud again if its files have changed. */
export class CredentialFiles {
  readonly #files: readonly string[];
  readonly #read: () => CloudAuth;
  #known: Credentials;

  /**
   * @param auth - credentials at the load of the configuration
   * @param read - reads the files; may throw
   */
  constructor(auth: CloudAuth, files: readonly string[], read: () => CloudAuth) {
    this.#files = files;
    this.#read = read;
    this.#known = { auth, stamp: '' };
  }

  /** Credentials of the files; the last valid ones while the files are invalid. */
  get current(): Credentials {
    const stamp = this.#files.map(stampOf).join('\n');
    if (stamp !== this.#known.stamp) this.#known = { stamp, auth: this.#readIfValid() };
    return this.#known;
  }

  #readIfValid(): CloudAuth {
    try {
      return this.#read();
    } catch {
      return this.#known.auth; // perhaps half written: a reload says what is wrong with a file
    }
  }
}

function stampOf(file: string): string {
  try {
    const { mtimeNs, size, dev, ino } = statSync(file, { bigint: true });
    return `${mtimeNs} ${size} ${dev}:${ino}`;
  } catch {
    return 'unreadable'; // reading it says why
  }
}
