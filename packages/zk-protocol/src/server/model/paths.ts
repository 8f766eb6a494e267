/** Path of the parent; `''` for the children of the root, which the tree accepts as the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** ZooKeeper's first check of the path of a create or delete: it has a slash and no NUL. */
export function hasParent(path: string): boolean {
  return path.includes('/') && !path.includes('\0');
}

/** Whether a path is valid by ZooKeeper's rules. */
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
