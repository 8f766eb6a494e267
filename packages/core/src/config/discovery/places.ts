import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isAbsent } from './driver-package.js';

/** Search folders of drivers. */
export interface DriverPlaces {
  /** Folders whose `node_modules`, and those of their parents, are searched, in this order: config, installation. */
  searchFrom: readonly string[];
  /** The global `node_modules`, searched last. */
  globalDir?: string | undefined;
}

/** Lists the distinct `node_modules` folders to search, nearest first. They need not exist. */
export function moduleFolders({ searchFrom, globalDir }: DriverPlaces): string[] {
  const folders = new Set<string>();
  for (const start of searchFrom) {
    for (let folder = resolve(start); ; folder = dirname(folder)) {
      folders.add(basename(folder) === 'node_modules' ? folder : join(folder, 'node_modules'));
      if (folder === dirname(folder)) break;
    }
  }
  if (globalDir !== undefined) folders.add(resolve(globalDir));
  return [...folders];
}

/** Lists the names in a folder; empty if the folder does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** Lists the scopes (`@acme`) in a `node_modules` folder. */
export async function scopesIn(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => name.startsWith('@'));
}
