import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type CancelTimer, delay, patientClock, steadyNow, systemClock } from '../../base/clock.js';
import { makeDirectory } from '../../base/make-directory.js';
import { EmbeddedServerError } from '../contract/errors.js';
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

/**
 * Keeps a second server off a data directory, also one of another container. Each server that wants it puts a claim of its
 * own there, a file and a socket that answers while the process lives, and then looks for others: of two that come at the
 * same time at least one sees the other. The claim of a server that died is removed; its name is never used again.
 *
 * A claim of another machine (or of before a reboot) cannot be asked: its holder touches the file each second.
 * @returns a function that frees the directory
 * @throws {EmbeddedServerError} `ZK_EMBEDDED_LOCKED`, or `ZK_EMBEDDED_IO` when the directory cannot be written
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const token = randomUUID();
  const unclaim = await claim(directory, token);
  try {
    for (const other of await readClaims(directory)) {
      if (other.token !== token) await waitUntilGone(directory, other, token);
    }
    return unclaim;
  } catch (error) {
    await unclaim();
    throw error;
  }
}

/**
 * Whether a server of this machine uses the data directory now. Asks no longer than a moment.
 * @returns `undefined` when it cannot be told: the directory is another user's, or the server may be on another machine
 */
export async function isDirectoryInUse(directory: string): Promise<boolean | undefined> {
  try {
    const claims = (await readClaims(directory)).filter(({ pid }) => pid !== undefined);
    const here = claims.filter((claim) => claim.bootId === bootId());
    const answers = await Promise.all(here.map(({ token }) => askLifeSign(directory, signName(token))));
    if (answers.includes('alive')) return true;
    return here.length < claims.length || answers.includes('unknown') ? undefined : false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code === 'EACCES') return undefined;
    throw error;
  }
}

async function claim(directory: string, token: string): Promise<() => Promise<void>> {
  const path = claimPath(directory, token);
  let sign: LifeSign | undefined;
  let cancel: CancelTimer = () => undefined;
  const unclaim = async () => {
    cancel();
    await rm(path, { force: true });
    await sign?.close();
  };
  try {
    await makeDirectory(directory, 0o700);
    sign = await LifeSign.open(directory, signName(token));
    const content = { pid: process.pid, host: hostname(), bootId: bootId() };
    await writeFile(path, JSON.stringify(content), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    await unclaim();
    const message =
      `embedded ZooKeeper: cannot use ${directory}: ${(error as Error).message}. ` +
      'Check that it is writable, and that there is space left on its disk';
    throw new EmbeddedServerError('ZK_EMBEDDED_IO', message, { path: directory, cause: error });
  }
  const beat = () => {
    cancel = systemClock.setTimer(HEARTBEAT_MS, () => {
      const now = new Date();
      // A beat that fails is no matter: for processes of this machine the socket answers.
      utimes(path, now, now).catch(() => undefined);
      beat();
    });
  };
  beat();
  return unclaim;
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
