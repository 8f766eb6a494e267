import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownHostsLines } from './connection-details.js';
import { createInventory } from './inventory.js';
import type { LeasedNode } from './lease.js';

/** Files a command gets beside its environment. */
export interface RunFiles {
  /** Ansible inventory. */
  readonly inventoryFile: string;
  readonly knownHostsFile: string;
  remove(): Promise<void>;
}

/** Writes inventory and host keys into a new directory only this user can read. */
export async function writeRunFiles(nodes: readonly LeasedNode[]): Promise<RunFiles> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-run-'));
  const knownHostsFile = join(directory, 'known_hosts');
  const inventoryFile = join(directory, 'inventory.json');
  const lines = nodes.flatMap(({ node }) => knownHostsLines(node));
  await writeFile(knownHostsFile, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 });
  const inventory = JSON.stringify(createInventory(nodes, knownHostsFile), null, 2);
  await writeFile(inventoryFile, `${inventory}\n`, { mode: 0o600 });
  return { inventoryFile, knownHostsFile, remove: () => rm(directory, { recursive: true, force: true }) };
}
