import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type CancelTimer, delay, patientClock, steadyNow, systemClock } from '../../base/clock.js';
import { makeDirectory } from '../../base/make-directory.js';
import { EmbeddedServerError } from '../errors.js';
import { askLifeSign, bootId, LifeSign } from './life-sign.js';

const CLAIM = /^server\.([0-9a-f-]{36})\.lock$/;
const HEARTBEAT_MS = 1000;
/** A claim that cannot be asked is given up when its file is not touched for this long. */
const SILENCE_MS = 5 * HEARTBEAT_MS;
/** How long one that came at the same time has to step back. */
const STEP_BACK_MS = 2000;
const LOOK_EVERY_MS = 100;

/** What a claim's file says about who made it. */
interface Claim {
  readonly token: string;
  readonly pid?: number;
  readonly host?: string;
  readonly bootId?: string;
}

/** How long a proof that the directory is ours is good for. Others take over only after {@link SILENCE_MS}. */
const PROOF_MS = 2 * HEARTBEAT_MS;

/**
 * Keeps a second server off a data directory, also one of another container. Each server that wants it puts a claim of its
 * own there, a file and a socket that answers while the process lives, and then looks for others: of two that come at the
 * same time at least one sees the other. The claim of a server that died is removed; its name is never used again.
 *
 * A claim of another machine (or of before a reboot) cannot be asked: its holder touches the file each second. A holder
 * that was stopped for longer finds its claim gone, and has to stop serving.
 */
export class DirectoryLock {
  /** Called once, when the lock is found to be lost. */
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
   * Takes the directory, and makes it where it is missing.
   * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOCKED`, or `ZK_EMBEDDED_IO` when the directory cannot be written
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

  /** Whether no other server can have taken the directory since the last look. */
  get isCertain(): boolean {
    const { steadyMs, wallMs } = timesNow();
    // Steady time stands still while the machine sleeps, and wall time jumps.
    return steadyMs - this.#proof.steadyMs < PROOF_MS && Math.abs(wallMs - this.#proof.wallMs) < PROOF_MS;
  }

  /**
   * Resolves when the directory is certainly ours.
   * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOST`; the operating system's error when it cannot be told
   */
  async confirm(): Promise<void> {
    if (!this.isCertain) await this.#ask();
  }

  /** Frees the directory. */
  async release(): Promise<void> {
    this.#cancelBeat();
    this.onLost = undefined;
    await rm(claimPath(this.directory, this.token), { force: true });
    await this.sign?.close();
  }

  #beat(): void {
    this.#cancelBeat = systemClock.setTimer(HEARTBEAT_MS, () => {
      // A beat that fails leaves the lock uncertain: the next write or answer asks again.
      this.#ask().catch(() => undefined);
      this.#beat();
    });
  }

  /** Touches the claim, which only works while it is there. */
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
      ? `${describe(other)} took it over while this process did not run`
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

/** Puts a claim into the directory. */
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

/** Returns once the other claim is void. @throws when it is not, and ours has to give way */
async function waitUntilGone(directory: string, other: Claim, token: string): Promise<void> {
  const deadline = steadyNow(patientClock) + STEP_BACK_MS;
  while (await isAlive(directory, other)) {
    // Of two that started together the one with the smaller token may stay.
    if (other.token < token || steadyNow(patientClock) > deadline) {
      throw new EmbeddedServerError(
        'ZK_EMBEDDED_LOCKED',
        `embedded ZooKeeper: ${directory} is in use by ${describe(other)}. Stop it, or use another data directory`,
        { path: directory },
      );
    }
    await delay(patientClock, LOOK_EVERY_MS);
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

/** Whether somebody touches the file while we look. */
async function isTouched(path: string): Promise<boolean> {
  const before = await touchedMs(path);
  for (let waitedMs = 0; before !== undefined && waitedMs < SILENCE_MS; waitedMs += LOOK_EVERY_MS) {
    await delay(patientClock, LOOK_EVERY_MS);
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

/** A claim that cannot be read, e.g. because it is just being written, says nothing but that it is there. */
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
