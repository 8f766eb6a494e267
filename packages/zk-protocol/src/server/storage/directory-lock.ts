import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type CancelTimer, delay, patientClock, steadyNow, systemClock } from '../../base/clock.js';
import { makeDirectory } from '../../base/make-directory.js';
import { EmbeddedServerError } from './server-error.js';
import { askLifeSign, bootId, LifeSign } from './life-sign.js';

const CLAIM = /^server\.([0-9a-f-]{36})\.lock$/;
const HEARTBEAT_MS = 1000;
/** A claim that cannot be queried expires when its file was not touched for this long. */
const SILENCE_MS = 5 * HEARTBEAT_MS;
/** Time for a server that started at the same time to give way. */
const GIVE_WAY_MS = 2000;
const POLL_MS = 100;

/** Content of a claim's file. */
interface Claim {
  readonly token: string;
  readonly pid?: number;
  readonly host?: string;
  readonly bootId?: string;
}

/** Validity of a proof that this process holds the directory. Others take over only after {@link SILENCE_MS}. */
const PROOF_MS = 2 * HEARTBEAT_MS;

/**
 * Keeps a second server, also one in another container, from using a data directory. Each server first creates its own
 * claim, a file and a socket that accepts connections while the process is alive, and then looks for others: of two that
 * start at the same time, at least one sees the other. Claims of dead servers are removed; their names are never reused.
 *
 * A claim of another machine, or from before a reboot, cannot be queried; its holder touches the file each second. A holder
 * that was stopped for longer finds its claim removed, and must stop serving.
 */
export class DirectoryLock {
  /** Called once when the lock was lost. */
  onLost: ((error: EmbeddedServerError) => void) | undefined;
  #proof = timesNow();
  #asking: Promise<void> | undefined;
  #cancelBeat: CancelTimer = () => undefined;

  private constructor(
    readonly directory: string,
    private readonly token: string,
    private readonly sign: LifeSign | undefined,
  ) {
    this.#beat();
  }

  /**
   * Locks the directory; creates it if it is missing.
   * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOCKED`, or `ZK_EMBEDDED_IO` if the directory is not writable
   */
  static async take(directory: string): Promise<DirectoryLock> {
    const token = randomUUID();
    const lock = new DirectoryLock(directory, token, await claim(directory, token));
    try {
      const others = (await readClaims(directory)).filter((other) => other.token !== token);
      await Promise.all(others.map((other) => waitUntilGone(directory, other, token)));
      return lock;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Whether no other server can have taken over the directory since the last check. */
  get isCertain(): boolean {
    const { steadyMs, wallMs } = timesNow();
    // Steady time stops while the machine sleeps, and the time of day may jump.
    return steadyMs - this.#proof.steadyMs < PROOF_MS && Math.abs(wallMs - this.#proof.wallMs) < PROOF_MS;
  }

  /**
   * Resolves if this process still holds the directory.
   * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOST`; the operating system's error if the check failed
   */
  async confirm(): Promise<void> {
    if (!this.isCertain) await this.#ask();
  }

  /** Releases the directory. */
  async release(): Promise<void> {
    this.#cancelBeat();
    this.onLost = undefined;
    await rm(claimPath(this.directory, this.token), { force: true });
    await this.sign?.close();
  }

  #beat(): void {
    this.#cancelBeat = systemClock.setTimer(HEARTBEAT_MS, () => {
      // After a failed beat the next write or reply checks again.
      this.#ask().catch(() => undefined);
      this.#beat();
    });
  }

  /** Touches the claim, which fails if it was removed. */
  #ask(): Promise<void> {
    this.#asking ??= this.#touch().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #touch(): Promise<void> {
    const times = timesNow();
    const date = new Date();
    try {
      await utimes(claimPath(this.directory, this.token), date, date);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      const lost = await this.#lost(error);
      this.#cancelBeat();
      this.onLost?.(lost);
      this.onLost = undefined;
      throw lost;
    }
    this.#proof = times;
  }

  async #lost(cause: unknown): Promise<EmbeddedServerError> {
    const { directory } = this;
    const [other] = await readClaims(directory).catch(() => []);
    const reason = other
      ? `${describe(other)} took it over while this process was stopped`
      : 'its files were removed while this server ran';
    const message =
      `embedded ZooKeeper: cannot continue to use ${directory}: ${reason}. ` +
      'Keep the data directory on a disk that only this machine uses; restore it from a backup if it was removed, and start again';
    return new EmbeddedServerError('ZK_EMBEDDED_LOST', message, { path: directory, cause });
  }
}

function timesNow() {
  return { steadyMs: steadyNow(systemClock), wallMs: systemClock.now() };
}

/** Creates a claim in the directory. */
async function claim(directory: string, token: string): Promise<LifeSign | undefined> {
  let sign: LifeSign | undefined;
  try {
    await makeDirectory(directory, 0o700);
    sign = await LifeSign.open(directory, signName(token));
    const content = { pid: process.pid, host: hostname(), bootId: bootId() };
    await writeFile(claimPath(directory, token), JSON.stringify(content), { mode: 0o600, flag: 'wx' });
    return sign;
  } catch (error) {
    await rm(claimPath(directory, token), { force: true });
    await sign?.close();
    const message =
      `embedded ZooKeeper: cannot use ${directory}: ${(error as Error).message}. ` +
      'Check that it is writable, and that there is space left on its disk';
    throw new EmbeddedServerError('ZK_EMBEDDED_IO', message, { path: directory, cause: error });
  }
}

/** Returns once the other claim is invalid. @throws if this process has to give way */
async function waitUntilGone(directory: string, other: Claim, token: string): Promise<void> {
  const deadline = steadyNow(patientClock) + GIVE_WAY_MS;
  while (await isAlive(directory, other)) {
    // Of two that start together, the smaller token wins.
    if (other.token < token || steadyNow(patientClock) > deadline) {
      throw new EmbeddedServerError(
        'ZK_EMBEDDED_LOCKED',
        `embedded ZooKeeper: ${directory} is in use by ${describe(other)}. Stop it, or use another data directory`,
        { path: directory },
      );
    }
    await delay(patientClock, POLL_MS);
  }
  await rm(claimPath(directory, other.token), { force: true });
  await rm(join(directory, signName(other.token)), { force: true });
}

async function isAlive(directory: string, claim: Claim): Promise<boolean> {
  if (claim.pid !== undefined && claim.bootId === bootId()) {
    const answer = await askLifeSign(directory, signName(claim.token));
    if (answer !== 'unknown') return answer === 'alive';
  }
  return isTouched(claimPath(directory, claim.token));
}

/** Whether the file is touched while this process watches it. */
async function isTouched(path: string): Promise<boolean> {
  const before = await touchedMs(path);
  for (let waitedMs = 0; before !== undefined && waitedMs < SILENCE_MS; waitedMs += POLL_MS) {
    await delay(patientClock, POLL_MS);
    const now = await touchedMs(path);
    if (now === undefined) return false;
    if (now !== before) return true;
  }
  return false;
}

async function touchedMs(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function readClaims(directory: string): Promise<Claim[]> {
  const tokens = (await readdir(directory)).map((name) => CLAIM.exec(name)?.[1]).filter((token) => token !== undefined);
  return Promise.all(tokens.map((token) => readClaim(directory, token)));
}

/** Reads a claim; only its token if the file is unreadable, e.g. because it is being written. */
async function readClaim(directory: string, token: string): Promise<Claim> {
  try {
    const value = JSON.parse(await readFile(claimPath(directory, token), 'utf8')) as Record<string, unknown>;
    const { pid, host, bootId } = value;
    return {
      token,
      ...(typeof pid === 'number' ? { pid } : {}),
      ...(typeof host === 'string' ? { host } : {}),
      ...(typeof bootId === 'string' ? { bootId } : {}),
    };
  } catch {
    return { token };
  }
}

function describe({ pid, host }: Claim): string {
  if (pid === undefined) return 'another server';
  return `the server in process ${pid}${host === undefined || host === hostname() ? '' : ` of ${host}`}`;
}

function claimPath(directory: string, token: string): string {
  return join(directory, `server.${token}.lock`);
}

function signName(token: string): string {
  return `server.${token}.sock`;
}
