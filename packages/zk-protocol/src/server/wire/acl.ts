import type { Acl } from '../../client/contract/types.js';
import type { JuteWriter } from './jute-writer.js';

/** Appends the entries of an ACL, after their number. */
export function writeAcl(writer: JuteWriter, acl: readonly Acl[]): void {
  writer.int(acl.length);
  for (const { permissions, scheme, id } of acl) {
    writer.int(permissions);
    writer.string(scheme);
    writer.string(id);
  }
}
