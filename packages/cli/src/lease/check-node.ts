import { unsafeLoginField } from '@nodepool/core/service';
import type { UnsafeField } from '@nodepool/core/service';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

/** One plain word for ssh and a shell: `nodepool` prints commands to log in. */
const USER = /^[\p{L}\p{N}_.][\p{L}\p{N}_.@+\\-]*$/u;

/**
 * Checks the fields that go into known_hosts, ssh commands and the inventory: a record must not inject a line or an option, or run
 * something on this computer.
 * @throws CliError that names node and field
 */
export function checkNode(node: NodeRecord): void {
  const unsafe = unsafeLoginField(node) ?? unsafeUser(node);
  if (unsafe === undefined) return;
  const { field, value } = unsafe;
  const what = `Node ${node.id} of ${node.provider ?? 'unknown provider'} is not used: its ${field} ${JSON.stringify(value)}`;
  throw new CliError(
    `${what} has a form that is not safe in known_hosts, an ssh command or an inventory; delete the node`,
  );
}

function unsafeUser({ username }: NodeRecord): UnsafeField | undefined {
  if (username === null || username === '' || USER.test(username)) return undefined;
  return { field: 'username', value: username };
}
