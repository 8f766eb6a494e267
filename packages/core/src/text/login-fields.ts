import type { Json, NodeRecord } from '@nodepool/zk-protocol';

/** Values that are one plain word for ssh and its files, a shell and Ansible. */
const ADDRESS = /^[\w:[][\w.:%[\]/-]*$/;
const WORD = /^\w[\w.-]*$/;
const HOST_KEY = /^\w[\w.@-]* [A-Za-z0-9+/]+={0,2}$/;
/** Users of Windows may have blanks in their names. */
const USER = /^[^\s\p{Cc}-][^\p{Cc}]*$/u;
/** The same for schemas of configurations, or nothing: programs that log in would take a user that begins with `-` for an option. */
export const USER_PATTERN = String.raw`^(?![\s-])[^\x00-\x1f\x7f]*$`;
const LARGEST_PORT = 65_535;
/** Connection plug-ins of Ansible that run commands on the computer of the one who uses the node. */
const LOCAL_CONNECTIONS = new Set(
  (
    'local chroot jail zone iocage nsenter machinectl libvirt_lxc lxc lxd incus qubes ' +
    'docker docker_api podman podman_unshare buildah'
  ).split(' '),
);

/** A field of a node that its user must not pass on to other programs. */
export interface UnsafeField {
  readonly field: string;
  readonly value: Json;
}

const isText = (form: RegExp) => (value: Json) => typeof value === 'string' && form.test(value);
const isRemote = (value: Json) =>
  typeof value === 'string' && WORD.test(value) && !LOCAL_CONNECTIONS.has(value.split('.').at(-1) ?? '');
const isPort = (value: Json) =>
  typeof value !== 'number' || (Number.isInteger(value) && value > 0 && value <= LARGEST_PORT);

/**
 * Looks at the fields that go into known_hosts, ssh commands and inventories: a record must not add a line or an option there, or run
 * something on the computer of the one who logs in.
 * @returns the first one that could
 */
export function unsafeLoginField(node: NodeRecord): UnsafeField | undefined {
  const fields: readonly (readonly [string, Json, (value: Json) => boolean])[] = [
    ['interface_ip', node.interfaceIp, isText(ADDRESS)],
    ['public_ipv4', node.publicIpv4, isText(ADDRESS)],
    ['public_ipv6', node.publicIpv6, isText(ADDRESS)],
    ['private_ipv4', node.privateIpv4, isText(ADDRESS)],
    ['hostname', node.hostname, isText(ADDRESS)],
    ['username', node.username, isText(USER)],
    ['connection_type', node.connectionType, isRemote],
    ['shell_type', node.shellType, isText(WORD)],
    ...node.hostKeys.map((key) => ['host_keys', key, isText(HOST_KEY)] as const),
    ['connection_port', node.connectionPort, isPort],
  ];
  const unsafe = fields.find(([, value, isSafe]) => value !== null && value !== '' && !isSafe(value));
  return unsafe && { field: unsafe[0], value: unsafe[1] };
}

/** The node, without all that is needed to log in if a part of that is unsafe. */
export function withoutUnsafeLogin(node: NodeRecord): NodeRecord {
  if (unsafeLoginField(node) === undefined) return node;
  const addresses = { interfaceIp: null, publicIpv4: null, publicIpv6: null, privateIpv4: null, hostname: null };
  const login = { username: null, connectionType: null, connectionPort: null, shellType: null, pythonPath: null };
  return { ...node, ...addresses, ...login, hostKeys: [] };
}
