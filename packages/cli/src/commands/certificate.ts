import type { LeasedNode, LeaseInfo } from '@nodepool/client';
import { defineCommand, text } from '../command/command.js';
import { print, type CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { findServerOrSocket, NAME_SERVER } from '../connection/local-server.js';
import { withServer, type ServerArguments } from '../connection/server.js';
import { SERVER_OPTIONS, serverArguments } from './shared-options.js';

/** `nodepool certificate`. */
export const command = defineCommand({
  positionals: {
    lease: { type: 'string', demandOption: true, describe: 'id of the lease' },
    node: { type: 'string', describe: 'id of the node; default: the only one' },
  },
  options: SERVER_OPTIONS,
  parse: (values) => ({ id: text(values, 'lease') ?? '', node: text(values, 'node'), server: serverArguments(values) }),
  run: showCertificate,
});

/** `nodepool certificate`: prints a fresh SSH certificate of a node. @throws CliError there is none */
async function showCertificate(
  context: CliContext,
  args: { readonly id: string; readonly node: string | undefined; readonly server: ServerArguments },
): Promise<void> {
  const server = await findServerOrSocket(context, args.server);
  if (!server) throw new UsageError(`certificate needs a server: ${NAME_SERVER}`);
  const lease = await withServer(server, context, (client) => client.get(args.id));
  const { id, certificate, certificateProblem } = nodeOf(lease, args.node);
  if (certificate !== null) return print(certificate);
  const why = certificateProblem ?? 'its lease has no SSH key, or its machine or the launcher takes none';
  throw new CliError(`Node ${id} has no certificate: ${why}`);
}

function nodeOf({ id, state, nodes, endReason }: LeaseInfo, wanted: string | undefined): LeasedNode {
  if (state !== 'active') throw new CliError(`Lease ${id} is ${state}${endReason === null ? '' : `: ${endReason}`}`);
  const found = wanted === undefined ? nodes : nodes.filter((node) => node.id === wanted);
  const [node] = found;
  if (node && found.length === 1) return node;
  throw new CliError(`Name one of the nodes of lease ${id}: ${nodes.map((each) => each.id).join(', ')}`);
}
