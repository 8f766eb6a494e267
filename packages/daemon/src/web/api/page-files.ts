import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** The built status page; the path is valid from sources and from `dist`. */
const PAGE_DIR = join(import.meta.dirname, '../../../dist/page');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file of the status page, compressed once. */
export interface PageFile {
  readonly contentType: string;
  readonly body: Buffer;
  readonly compressed: Buffer;
  /** Whether its name changes with its content, so that browsers may cache it forever. */
  readonly isForever: boolean;
}

/** Reads all files of the status page by their path; empty if it has not been built. */
export function readPageFiles(directory = PAGE_DIR): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  let names: string[];
  try {
    names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  } catch {
    return files;
  }
  for (const name of names) {
    const contentType = TYPES[extname(name)];
    if (contentType === undefined) continue;
    const body = readFileSync(join(directory, name));
    const path = name === 'index.html' ? '/' : `/${name}`;
    const compressed = gzipSync(body, { level: 9 });
    files.set(path, { contentType, body, compressed, isForever: name !== 'index.html' });
  }
  return files;
}
