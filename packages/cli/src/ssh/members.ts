import type { ReadEntry } from 'tar';

/** Where a member of an archive goes below the directory that takes it. */
export interface Member {
  readonly path: string;
  /** A symbolic link: to where. */
  readonly link?: string;
}

/** A member that must not be unpacked: why. */
export interface Refusal {
  readonly refused: string;
}

const KINDS: Readonly<Record<string, string>> = {
  FIFO: 'a FIFO',
  CharacterDevice: 'a device',
  BlockDevice: 'a device',
};
const NULL = '\0';
const words = (path: string) => path.split('/').filter((word) => word !== '' && word !== '.');

/** @returns the words of the path; `undefined` if it does not begin with `name`, or leads elsewhere */
function wordsBelow(name: string, path: unknown): string[] | undefined {
  if (typeof path !== 'string' || path.startsWith('/') || path.includes(NULL)) return undefined;
  const found = words(path);
  return found[0] === name && !found.includes('..') ? found : undefined;
}

/**
 * Whether a link stays inside, whatever other links there are now or later: `..` only at its beginning, where the directories above
 * the link are real ones, and no more often than there are such directories.
 * @param depth - number of directories between the outermost one and the link
 */
function staysInside(target: unknown, depth: number): target is string {
  if (typeof target !== 'string' || target.startsWith('/') || target.includes(NULL)) return false;
  const found = words(target);
  const down = found.findIndex((word) => word !== '..');
  const up = down === -1 ? found.length : down;
  return up <= depth && !found.includes('..', up);
}

/**
 * Judges a member of an archive that a machine sent: only regular files, directories and links that stay inside are taken.
 * @param name - of the only file or directory that may be unpacked
 */
export function judgeMember({ path, type, linkpath }: ReadEntry, name: string): Member | Refusal {
  const place = wordsBelow(name, path);
  if (!place) return { refused: 'not the file that was asked for' };
  const member = { path: place.join('/') };
  switch (type) {
    case 'File':
    case 'OldFile':
    case 'ContiguousFile':
    case 'Directory':
      return member;
    case 'Link':
      return wordsBelow(name, linkpath) ? member : { refused: 'a link that leads elsewhere' };
    case 'SymbolicLink':
      return staysInside(linkpath, place.length - 2)
        ? { ...member, link: linkpath }
        : { refused: 'a link that leads elsewhere' };
    default:
      return { refused: KINDS[type] ?? 'no file, directory or link' };
  }
}
