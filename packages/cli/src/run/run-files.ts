import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { knownHostsLines } from '@nodepool/core/service';
import { temporaryDirectory } from '../command/temporary-directory.js';
import { describeNodes } from '../lease/describe-lease.js';
import type { LeasedNode } from '../lease/leased-node.js';
import { createInventory } from './inventory.js';

/** Files for a command, named in its environment. */
export interface RunFiles {
  /** Holds all of them and nothing else. */
  readonly directory: string;
  /** Ansible inventory. */
  readonly inventoryFile: string;
  readonly knownHostsFile: string;
  /** All nodes, as a JSON array. */
  readonly nodesFile: string;
  remove(): Promise<void>;
}

/** Writes nodes, inventory and host keys into a new directory only this user can read. */
export async function writeRunFiles(nodes: readonly LeasedNode[]): Promise<RunFiles> {
  const directory = await mkdtemp(join(temporaryDirectory(), 'nodepool-run-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  const knownHostsFile = join(directory, 'known_hosts');
  const inventoryFile = join(directory, 'inventory.json');
  const nodesFile = join(directory, 'nodes.json');
  const lines = nodes.flatMap(({ node }) => knownHostsLines(node));
  try {
    await writeFile(knownHostsFile, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
    await writeJson(inventoryFile, createInventory(nodes, knownHostsFile));
    await writeJson(nodesFile, describeNodes(nodes));
  } catch (error) {
    await remove();
    throw error;
  }
  return { directory, inventoryFile, knownHostsFile, nodesFile, remove };
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}
