import type { NodeRecord } from '@nodepool/zk-protocol';
import { LaunchError } from '../../contract/errors.js';
import { needsAddress } from '../../contract/instance.js';

/** States of nodes whose machine runs and may be in use. */
export const RUNNING: ReadonlySet<string> = new Set(['ready', 'in-use', 'hold']);

/** Of a node, what jobs reach it by. */
type Reached = Pick<NodeRecord, 'id' | 'interfaceIp' | 'connectionPort' | 'connectionType' | 'slot'>;
type ReachedNode = Reached & Pick<NodeRecord, 'externalId'>;

/**
 * Host and port of a node; `undefined`: it is not reached by an address of its own. Slots are parts of one machine, and pods are reached
 * through the API of their cluster.
 */
export function addressOf({ interfaceIp, connectionPort, connectionType, slot }: Reached): string | undefined {
  if (interfaceIp === null || interfaceIp === '' || slot !== null || !needsAddress(connectionType)) return undefined;
  return `${interfaceIp} port ${typeof connectionPort === 'number' ? connectionPort : 22}`;
}

/** Why a node cannot be told from an older one with the same address. */
export function sharedAddressText(younger: ReachedNode, older: ReachedNode): string {
  return (
    `node ${younger.id} (${instanceOf(younger)}) and node ${older.id} (${instanceOf(older)}) both have the address ` +
    `${addressOf(younger) ?? ''}, so jobs of one would reach the other. Machines whose image has a fixed /etc/machine-id get ` +
    'one DHCP lease: empty that file in the image'
  );
}

/** Nodes that have the address of an older one. @param nodes - of one provider, whose machines run */
export function sharedAddresses(
  nodes: readonly NodeRecord[],
): { readonly younger: NodeRecord; readonly why: string }[] {
  const oldest = new Map<string, NodeRecord>();
  const shared: { younger: NodeRecord; why: string }[] = [];
  for (const node of nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const address = addressOf(node);
    if (address === undefined) continue;
    const older = oldest.get(address);
    if (older) shared.push({ younger: node, why: sharedAddressText(node, older) });
    else oldest.set(address, node);
  }
  return shared;
}

/** The addresses of a provider's nodes, which launches claim before they store theirs. */
export class AddressClaims {
  readonly #ownNodes: () => Iterable<NodeRecord>;
  readonly #claims = new Map<string, NodeRecord>();

  constructor(ownNodes: () => Iterable<NodeRecord>) {
    this.#ownNodes = ownNodes;
  }

  /**
   * Claims the address of a node that is about to be ready.
   * @returns a function that ends the claim
   * @throws {LaunchError} another node has the address
   */
  claim(node: NodeRecord): () => void {
    const address = addressOf(node);
    if (address === undefined) return () => undefined;
    const older = this.#holderOf(address, node);
    if (older) throw new LaunchError('address', sharedAddressText(node, older));
    this.#claims.set(address, node);
    return () => {
      if (this.#claims.get(address) === node) this.#claims.delete(address);
    };
  }

  #holderOf(address: string, { id }: NodeRecord): NodeRecord | undefined {
    const claim = this.#claims.get(address);
    if (claim && claim.id !== id) return claim;
    for (const node of this.#ownNodes()) {
      if (node.id !== id && RUNNING.has(node.state) && addressOf(node) === address) return node;
    }
    return undefined;
  }
}

function instanceOf({ externalId }: Pick<NodeRecord, 'externalId'>): string {
  return `instance ${typeof externalId === 'string' ? externalId : JSON.stringify(externalId)}`;
}
