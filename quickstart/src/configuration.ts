import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { isMap, parseDocument } from 'yaml';
import type { Document, YAMLMap } from 'yaml';
import { QuickStartError, say } from './terminal.js';

/** A machine the configuration names on this computer. */
export interface LocalHost {
  readonly port: number;
  readonly username: string;
}

/** What the quick start needs to know of its configuration. */
export interface QuickStartConfiguration {
  /** The file for the launcher: the one given, or a copy with other ports. */
  readonly file: string;
  readonly labels: readonly string[];
  readonly hosts: readonly LocalHost[];
  /** Nodes there will be when all these hosts are up. */
  readonly slots: number;
  readonly webPort: number;
}

/** Address of all SSH endpoints and of the launcher's web server. */
export const LOOPBACK = '127.0.0.1';

const DEFAULT_WEB_PORT = 8005;
const DEFAULT_USER = 'zuul';

function maps(parent: unknown, key: string): YAMLMap[] {
  const value: unknown = isMap(parent) ? parent.get(key) : undefined;
  const items = typeof value === 'object' && value !== null && 'items' in value ? value.items : [];
  return (items as unknown[]).filter((item) => isMap(item));
}

/** Every `nodes` entry of a static provider. */
function staticNodes(document: Document): YAMLMap[] {
  return maps(document.contents, 'providers')
    .filter((provider) => provider.get('driver') === 'static')
    .flatMap((provider) => maps(provider, 'pools'))
    .flatMap((pool) => maps(pool, 'nodes'));
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, LOOPBACK, () => server.close(() => resolve(true)));
  });
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, LOOPBACK, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Replaces a port somebody else uses. `ours` are ports we serve ourselves at the moment. @returns true when replaced */
async function avoidTakenPort(map: YAMLMap, key: string, port: number, ours: ReadonlySet<number>): Promise<boolean> {
  if (ours.has(port) || (await isPortFree(port))) return false;
  const free = await findFreePort();
  map.set(key, free);
  say(`port ${port} is taken by another program: using ${free} instead`);
  return true;
}

const localNodes = (document: Document) => staticNodes(document).filter((node) => node.get('name') === LOOPBACK);
const portOf = (node: YAMLMap) => Number(node.get('connection-port') ?? 22);

function userOf(node: YAMLMap): string {
  const username = node.get('username');
  return typeof username === 'string' ? username : DEFAULT_USER;
}

async function read(file: string): Promise<Document> {
  const document = parseDocument(await readFile(file, 'utf8'));
  const [problem] = document.errors;
  if (problem !== undefined) throw new QuickStartError(`${file}: ${problem.message}`);
  return document;
}

/**
 * Reads the configuration. When a port in it is taken, a copy with another one is written to `copy`.
 * @param ours - ports that are not free because this program uses them
 */
export async function readConfiguration(
  file: string,
  copy: string,
  ours: ReadonlySet<number>,
): Promise<QuickStartConfiguration> {
  const document = await read(file);
  let changed = false;
  for (const node of localNodes(document)) {
    changed = (await avoidTakenPort(node, 'connection-port', portOf(node), ours)) || changed;
  }
  const webapp = document.get('webapp');
  if (isMap(webapp)) {
    const port = Number(webapp.get('port') ?? DEFAULT_WEB_PORT);
    changed = (await avoidTakenPort(webapp, 'port', port, ours)) || changed;
  }
  if (changed) await writeFile(copy, document.toString());
  return describe(document, changed ? copy : file);
}

function describe(document: Document, file: string): QuickStartConfiguration {
  const nodes = localNodes(document);
  return {
    file,
    labels: maps(document.contents, 'labels').map((label) => String(label.get('name'))),
    hosts: nodes.map((node) => ({
      port: portOf(node),
      username: userOf(node),
    })),
    slots: nodes.reduce((sum, node) => sum + Number(node.get('max-parallel-jobs') ?? 1), 0),
    webPort: Number(document.getIn(['webapp', 'port']) ?? DEFAULT_WEB_PORT),
  };
}
