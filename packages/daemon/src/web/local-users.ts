import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { lstatSync, readFileSync, rmdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { type Clock, localOwner, steadyNow } from '@nodepool/zk-protocol';
import { ApiError } from './api-error.js';

/** A client has this long to make the directory. */
const CHALLENGE_MS = 10_000;
const TOKEN_MS = 10 * 60_000;
const NAME = /^[0-9a-f]{32}$/;
const TOKEN = /^Bearer (uid\.(\d{1,10})\.(\d{1,20}))\.([0-9a-f]{64})$/;
const PRIVATE = 0o700;
const PERMISSIONS = 0o777;

/** What a client has to do to show who it is: make a directory of this name, with mode 0700. */
export interface Challenge {
  readonly name: string;
  /** To be sent back then. */
  readonly proof: string;
}

/** Options of {@link LocalUsers}. */
export interface LocalUsersOptions {
  /** Directory where users may make directories, but neither list nor remove those of others. */
  readonly directory: string;
  readonly hostname: string;
  readonly clock: Clock;
  /** Owner of files of users whom the user namespace of this process does not know: it is no certain user. */
  readonly unknownUid?: number;
}

/**
 * Finds out which user of this computer calls. Node.js does not tell the user at the other end of a Unix socket, so the client
 * makes a directory with a random name that only it has been told, and the owner of that directory is the user. A directory,
 * as no user can make hard links of one; with mode 0700, as only its owner can move such a directory here.
 *
 * Nothing is remembered: challenges and tokens carry a MAC by a key that this process makes, so that none survives it.
 */
export class LocalUsers {
  readonly #options: LocalUsersOptions;
  readonly #key = randomBytes(32);
  readonly #unknownUid: number;

  constructor(options: LocalUsersOptions) {
    this.#options = options;
    this.#unknownUid = options.unknownUid ?? overflowUid();
  }

  challenge(): Challenge {
    const name = randomBytes(16).toString('hex');
    const endMs = this.#nowMs + CHALLENGE_MS;
    return { name, proof: `${endMs}.${this.#mac(`challenge ${name} ${endMs}`)}` };
  }

  /** Removes the directory. @returns the token of the user who made it. @throws ApiError 401, 403 */
  logIn({ name, proof }: Challenge): string {
    const [endMs = '', mac = ''] = proof.split('.');
    const isOurs = NAME.test(name) && this.#isMac(mac, `challenge ${name} ${endMs}`);
    if (!isOurs || Number(endMs) < this.#nowMs)
      throw refused(401, 'The challenge is wrong or too old: ask for another');
    const path = join(this.#options.directory, name);
    const { uid } = this.#statsOf(path);
    if (uid === this.#unknownUid) {
      throw refused(403, `Your user is not known where the launcher runs (uid ${uid} there): use a token`);
    }
    rmdir(path);
    const text = `uid.${uid}.${this.#nowMs + TOKEN_MS}`;
    return `${text}.${this.#mac(text)}`;
  }

  /** The owner of a token of {@link logIn}, from a header `Authorization`. @returns `undefined`: it is none, or too old */
  ownerOf(authorization: string | undefined): string | undefined {
    const [, text = '', uid = '', endMs = '', mac = ''] = TOKEN.exec(authorization ?? '') ?? [];
    if (!this.#isMac(mac, text) || Number(endMs) < this.#nowMs) return undefined;
    return localOwner(Number(uid), this.#options.hostname);
  }

  /** By a clock that is never set. */
  get #nowMs(): number {
    return Math.round(steadyNow(this.#options.clock));
  }

  #statsOf(path: string): Stats {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats) throw refused(401, 'There is no directory of the name that was given');
    if (stats.isDirectory() && (stats.mode & PERMISSIONS) === PRIVATE) return stats;
    throw refused(401, 'What has the name that was given is no directory of mode 0700');
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }

  #isMac(mac: string, text: string): boolean {
    const [given, expected] = [Buffer.from(mac), Buffer.from(this.#mac(text))];
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}

function refused(status: number, text: string): ApiError {
  return new ApiError(status, 'unknown-user', text);
}

/** One that cannot be removed could be used again. @throws ApiError 401 */
function rmdir(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    throw refused(401, `The directory of your login cannot be removed: ${(error as Error).message}`);
  }
}

function overflowUid(): number {
  try {
    return Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));
  } catch {
    return 65_534;
  }
}
