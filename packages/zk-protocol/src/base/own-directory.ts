import { chmodSync, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { join, parse, resolve, sep } from 'node:path';
import { NodepoolError } from './errors.js';
import { makeDirectorySync } from './make-directory.js';

const OTHERS_WRITE = 0o002;
const GROUP_WRITE = 0o020;
const GROUP_OR_OTHERS_WRITE = 0o022;
/** In such a directory only the owner of an entry may rename or remove it. */
const STICKY = 0o1000;
const PERMISSIONS = 0o777;
const PRIVATE = 0o700;
const ROOT = 0;
/** Its group may write there on some systems, for the program that writes the system's logs. */
const SYSTEM_LOGS = '/var/log';
const MOST_LINKS = 40;

interface Entry {
  readonly path: string;
  readonly stats: Stats;
}

/** An entry on the way to a path. */
interface Step extends Entry {
  /** Of the directory that holds the entry; `undefined` for the root. */
  readonly parent: Stats | undefined;
  /** Whether it is the last entry of the path. */
  readonly isLast: boolean;
}

/**
 * Creates a directory with mode 0700 for files that a privileged process trusts. Uses an existing one only if it is a
 * directory of this user, not a link, and no other user can write to it or replace it or a parent directory.
 * @param remedy - advice for the user, for the error
 * @throws NODEPOOL_UNSAFE_DIRECTORY with the reason, before any change; the operating system's error
 */
export function makePrivateDirectory(path: string, remedy: string, uid = process.geteuid?.()): void {
  if (uid === undefined) return makeDirectorySync(path, PRIVATE);
  checkSteps(path, remedy, uid, privateReason);
  makeDirectorySync(path, PRIVATE);
  checkSteps(path, remedy, uid, privateReason); // Another user may have created it first.
  if ((lstatSync(path).mode & PERMISSIONS) !== PRIVATE) chmodSync(path, PRIVATE);
}

/**
 * Checks a place that an operator has chosen for files of a service. Below a world-writable directory such as `/tmp`, it must
 * belong to this user or to root, and must not be reached through a link; without the sticky bit no place below is accepted.
 * Parent directories must belong to this user, to root, or to a user who lets a group of this user write to them; root
 * accepts those of any user. Missing entries are accepted.
 * @param remedy - advice for the user, for the error
 * @throws NODEPOOL_UNSAFE_DIRECTORY with the reason
 */
export function checkSharedPlace(path: string, remedy: string, uid = process.geteuid?.()): void {
  checkSteps(path, remedy, uid, placeReason);
}

/**
 * Checks a place where a client looks for a service, as {@link checkSharedPlace}. Any user may run the service and own the
 * parent directories.
 * @throws NODEPOOL_UNSAFE_DIRECTORY with the reason
 */
export function checkPlaceOfService(path: string, remedy: string, uid = process.geteuid?.()): void {
  checkSteps(path, remedy, uid, sharedReason);
}

/**
 * Checks a directory that an operator has chosen for our files, as {@link checkSharedPlace}. In addition, it must not be
 * world-writable.
 * @throws NODEPOOL_UNSAFE_DIRECTORY with the reason
 */
export function checkOwnDirectory(path: string, remedy: string, uid = process.geteuid?.()): void {
  checkSteps(path, remedy, uid, ownReason);
}

/** A directory for {@link checkPrivilegedDirectory}. */
export interface PrivilegedDirectory {
  readonly path: string;
  /** Advice for the user, for the error. */
  readonly remedy: string;
  /** Paths of directories that may belong to another user and be writable for their group. */
  readonly trusted: readonly string[];
}

/**
 * Checks a log or pid file of a service as {@link checkSharedPlace}. For root, also refuses it if a directory above it belongs to
 * another user or is writable for the group of one, who could redirect what root writes. Sticky directories are accepted, as is
 * the group of `/var/log`.
 * @throws NODEPOOL_UNSAFE_DIRECTORY with the reason and the command that corrects it
 */
export function checkServiceFile(path: string, remedy: string, uid = process.geteuid?.()): void {
  checkSteps(path, remedy, uid, (step, user) => placeReason(step, user) ?? rootReason(step, user, []));
}

/**
 * Checks a directory as {@link checkOwnDirectory}. For root, also refuses it if it or a directory above it belongs to another user
 * or is writable for the group of one, who could redirect what root writes. A sticky directory above it is accepted, as is the group of `/var/log`.
 * @throws NODEPOOL_UNSAFE_DIRECTORY with the reason and the command that corrects it
 */
export function checkPrivilegedDirectory(directory: PrivilegedDirectory, uid = process.geteuid?.()): void {
  const { path, remedy } = directory;
  const trusted = directory.trusted.map((one) => resolve(one));
  checkSteps(path, remedy, uid, (step, user) => {
    const reason = rootReason(step, user, trusted);
    return ownReason(step, user) ?? (reason && `${reason}, or name it in trusted-directories`);
  });
}

type Check = (step: Step, uid: number) => string | undefined;

function checkSteps(path: string, remedy: string, uid: number | undefined, check: Check): void {
  if (uid === undefined) return;
  for (const step of stepsTo(path)) {
    const reason = check(step, uid);
    if (reason !== undefined) throw unsafePath(path, reason, remedy);
  }
}

/** The error for a path that another user may have prepared. */
export function unsafePath(path: string, reason: string, remedy: string): NodepoolError {
  return new NodepoolError('NODEPOOL_UNSAFE_DIRECTORY', `"${path}" is not used: ${reason}; ${remedy}`);
}

function privateReason(step: Step, uid: number): string | undefined {
  const { stats, isLast } = step;
  if (isLast && !stats.isDirectory()) return sharedReason(step, uid) ?? `${quote(step)} is not a directory`;
  if (isLast ? stats.uid !== uid : !isTrusted(stats, uid)) return owned(step);
  const isFenced = !isLast && (stats.mode & STICKY) !== 0;
  if (!stats.isSymbolicLink() && !isFenced && (stats.mode & GROUP_OR_OTHERS_WRITE) !== 0) return openTo(step);
  return sharedReason(step, uid);
}

function placeReason(step: Step, uid: number): string | undefined {
  const { stats, isLast } = step;
  const isOfOthers = !isLast && stats.isDirectory() && !isTrusted(stats, uid);
  return isOfOthers && uid !== ROOT && !isForOwnGroup(stats) ? owned(step) : sharedReason(step, uid);
}

function ownReason(step: Step, uid: number): string | undefined {
  const { stats, isLast } = step;
  const isOpen = isLast && stats.isDirectory() && (stats.mode & OTHERS_WRITE) !== 0;
  return placeReason(step, uid) ?? (isOpen ? openToAll(step) : undefined);
}

/** Why root does not use a directory, with the command that corrects it; `undefined` if it does, and for other users. */
function rootReason(step: Step, uid: number, trusted: readonly string[]): string | undefined {
  const { path, stats, isLast } = step;
  if (uid !== ROOT || !stats.isDirectory() || path === SYSTEM_LOGS || trusted.includes(path)) return undefined;
  const all = isLast ? '-R ' : '';
  if (!isTrusted(stats, ROOT)) {
    return `${owned(step)}, who can replace what root writes there: if that user needs it no more, "chown ${all}root:root ${path}"`;
  }
  const isFenced = !isLast && (stats.mode & STICKY) !== 0;
  if (stats.gid === ROOT || isFenced || (stats.mode & GROUP_WRITE) === 0) return undefined;
  return `${openTo(step)}: if its group (gid ${stats.gid}) needs not, "chmod g-w ${path}"`;
}

function sharedReason(step: Step, uid: number): string | undefined {
  const { stats, parent } = step;
  if (parent !== undefined && (parent.mode & OTHERS_WRITE) !== 0) {
    if (!isTrusted(stats, uid)) return owned(step);
    if (stats.isSymbolicLink()) return `${quote(step)} is a link in a directory that every user may write to`;
  }
  if (!stats.isDirectory() || (stats.mode & OTHERS_WRITE) === 0) return undefined;
  if ((stats.mode & STICKY) === 0) return openToAll(step);
  return isTrusted(stats, uid) ? undefined : owned(step); // The sticky bit does not stop the directory's owner.
}

function isForOwnGroup({ gid, mode }: Stats): boolean {
  return (mode & GROUP_WRITE) !== 0 && [process.getegid?.(), ...(process.getgroups?.() ?? [])].includes(gid);
}

/** In a user namespace without root, system files belong to the owner of the root directory. */
const isTrusted = ({ uid: owner }: Stats, uid: number): boolean =>
  owner === uid || owner === ROOT || owner === lstatSync(parse(resolve()).root).uid;
/** With the command that corrects it, unless the directory is sticky: that one is shared on purpose. */
const openToAll = (step: Step): string =>
  `${openTo(step)}${(step.stats.mode & STICKY) === 0 ? `: if they need not, "chmod o-w ${step.path}"` : ''}`;
const quote = ({ path }: Entry): string => JSON.stringify(path);
/** Message that an entry belongs to another user. */
export const owned = (step: Entry): string => `${quote(step)} belongs to another user (uid ${step.stats.uid})`;
/** Message that other users may write to a directory. */
export const openTo = (step: Entry): string =>
  `other users may write to ${quote(step)} (mode ${(step.stats.mode & 0o7777).toString(8)})`;

/** All entries on the way to a path, following links, up to the first that does not exist. */
function* stepsTo(path: string): Generator<Step> {
  const { root } = parse(resolve(path));
  let rest = partsOf(path);
  let at: Step = { path: root, stats: lstatSync(root), parent: undefined, isLast: rest.length === 0 };
  const start = at;
  yield at;
  for (let links = 0; rest.length > 0;) {
    const [name = '', ...behind] = rest;
    const next = join(at.path, name);
    const stats = lstatIfPresent(next);
    if (stats === undefined) return;
    const step: Step = { path: next, stats, parent: at.stats, isLast: behind.length === 0 };
    yield step;
    if (stats.isSymbolicLink()) {
      if ((links += 1) > MOST_LINKS) return;
      rest = [...partsOf(resolve(at.path, readlinkSync(next))), ...behind];
      at = start;
    } else {
      rest = behind;
      at = step;
    }
  }
}

const partsOf = (path: string): string[] =>
  resolve(path)
    .slice(parse(resolve(path)).root.length)
    .split(sep)
    .filter((part) => part !== '');

function lstatIfPresent(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
