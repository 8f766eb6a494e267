import type { JsonObject } from '@nodepool/zk-protocol';
import type { RunFiles } from './run-files.js';

/** Linux limits one variable to 128 KiB; larger values are only in the file. */
const LARGEST_VARIABLE = 100_000;
/** All variables and arguments share 2 MiB on Linux and 1 MiB on macOS; most of it is for other variables. */
const MOST_FOR_FACTS = 300_000;

const FACTS = [
  ...['id', 'name', 'label', 'provider', 'hostname', 'ip', 'port', 'username', 'connection_type', 'python_path'],
  ...['identity', 'certificate'],
] as const;

function factsOf(nodes: readonly JsonObject[]): Record<string, string> {
  const facts: Record<string, string> = {};
  nodes.forEach((node, index) => {
    for (const fact of FACTS) {
      const value = node[fact];
      if (typeof value !== 'string' && typeof value !== 'number') continue;
      facts[`NODEPOOL_NODE_${index}_${fact.toUpperCase()}`] = String(value);
    }
  });
  return facts;
}

function sizeOf(variables: Readonly<Record<string, string>>): number {
  return Object.entries(variables).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value) + 2, 0);
}

/**
 * Environment of a command that runs with the nodes. `NODEPOOL_NODES` and the variables of single nodes are left out when
 * there are too many nodes for them; `NODEPOOL_NODES_FILE` has all.
 * @param nodes - as {@link describeNodes} describes them
 */
export function nodeEnvironment(
  requestId: string,
  nodes: readonly JsonObject[],
  files: Omit<RunFiles, 'directory' | 'remove'>,
): Record<string, string> {
  const text = JSON.stringify(nodes);
  const facts = factsOf(nodes);
  return {
    ...(sizeOf(facts) <= MOST_FOR_FACTS && facts),
    ...(Buffer.byteLength(text) <= LARGEST_VARIABLE && { NODEPOOL_NODES: text }),
    NODEPOOL_REQUEST_ID: requestId,
    NODEPOOL_NODE_COUNT: String(nodes.length),
    NODEPOOL_NODES_FILE: files.nodesFile,
    NODEPOOL_INVENTORY: files.inventoryFile,
    NODEPOOL_KNOWN_HOSTS: files.knownHostsFile,
    ANSIBLE_INVENTORY: files.inventoryFile,
  };
}
