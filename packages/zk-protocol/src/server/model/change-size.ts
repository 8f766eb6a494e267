import type { Acl } from '../../client/contract/types.js';
import type { TreeChange } from './data-tree.js';

/** Upper bound of a change's bytes in the log. */
export function sizeOfChange(change: TreeChange): number {
  const data = 'data' in change ? (change.data?.length ?? 0) : 0;
  const acl = 'acl' in change ? sizeOfAcl(change.acl) : 0;
  return 64 + change.path.length * 3 + data + acl;
}

function sizeOfAcl(acl: readonly Acl[]): number {
  let size = 0;
  for (const { scheme, id } of acl) size += 12 + (scheme.length + id.length) * 3;
  return size;
}
