/** Path of the parent; the root's children have `''`, which the tree knows as a name of the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** True when there is a slash and no NUL: the first, coarse check ZooKeeper makes of a path in a create or delete. */
export function hasParent(path: string): boolean {
  return path.includes('/') && !path.includes('\0');
}

/** True for a path that a znode can have, by the rules of ZooKeeper's path grammar. */
export function isValidPath(path: string): boolean {
  if (path === '/') return true;
  if (!path.startsWith('/') || path.endsWith('/')) return false;
  for (let index = 1; index < path.length; index++) {
    if (isForbidden(path.charCodeAt(index))) return false;
  }
  return !path.includes('//') && !/\/\.{1,2}(\/|$)/.test(path);
}

function isForbidden(code: number): boolean {
  if (code >= 0x20 && code < 0x7f) return false;
  return code <= 0x1f || code <= 0x9f || (code >= 0xd800 && code <= 0xf8ff) || code >= 0xfff0;
}
