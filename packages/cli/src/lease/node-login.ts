/** How `ssh` proves to a node who it is. */
export interface NodeLogin {
  /** File with the private key, or with the public key of one that an agent has. */
  readonly identity: string;
  /** File with the certificate of this key for the node. */
  readonly certificate?: string | undefined;
}

/** Settings of a user's configuration that would change what a command does on a node, or give something of this computer to it. */
const UNDISTURBED = [
  ...['RemoteCommand=none', 'PermitLocalCommand=no', 'ClearAllForwardings=yes', 'Tunnel=no'],
  ...['ForwardAgent=no', 'ForwardX11=no'],
];

/** Options with which `ssh` does what its command line says, whatever the user's configuration has. */
export const undisturbedOptions: readonly string[] = UNDISTURBED.flatMap((setting) => ['-o', setting]);

/** Options of `ssh` for a login; of other keys, an agent may have more than a server lets try. */
export function loginOptions(login: NodeLogin | undefined): string[] {
  if (login === undefined) return [];
  const { identity, certificate } = login;
  return [
    ...['-i', identity, '-o', 'IdentitiesOnly=yes'],
    ...(certificate === undefined ? [] : ['-o', `CertificateFile=${certificate}`]),
  ];
}

/** @param identity - of the command line, which counts before that of the lease */
export function withIdentity(login: NodeLogin | undefined, identity: string | undefined): NodeLogin | undefined {
  return identity === undefined ? login : { ...login, identity };
}
