import type { Acl } from '../../client/contract/types.js';
import type { JuteWriter } from './jute-writer.js';

/** Appends an ACL: the number of entries, then the entries. */
export function writeAcl(writer: JuteWriter, acl: readonly Acl[]): void {
  writer.int(acl.length);
  for (const { permissions, scheme, id } of acl) {
    writer.int(permissions);
    writer.string(scheme);
    writer.string(id);
  }
}
