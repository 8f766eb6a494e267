import { ZooKeeperError } from './contract/errors.js';

/**
 * Checks the form of a path before it is sent; the server checks the rest. A sequential create may end in `/`, for a name
 * of digits only.
 * @throws ZK_BAD_ARGUMENTS
 */
export function assertPath(path: string, isPrefix = false): void {
  const why = !path.startsWith('/')
    ? 'must start with /'
    : path.length > 1 && !isPrefix && path.endsWith('/')
      ? 'must not end with /'
      : path.includes('//')
        ? 'has an empty part'
        : undefined;
  if (why !== undefined) throw new ZooKeeperError('ZK_BAD_ARGUMENTS', `path "${path}" ${why}`, { path });
}
