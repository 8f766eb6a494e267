import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { isMap, isSeq, parseDocument } from 'yaml';
import type { Document, YAMLMap } from 'yaml';
import { QuickStartError, say } from './terminal.js';

/** A machine the configuration names on this computer. */
export interface LocalHost {
  readonly port: number;
  readonly username: string;
}

/** A label for which machines come and go. */
export interface ElasticLabel {
  readonly name: string;
  /** Jobs that run on one machine at a time. */
  readonly slots: number;
}

/** What the quick start needs to know of its configuration. */
export interface QuickStartConfiguration {
  /** The file for the launcher: the one given, or a copy with other ports. */
  readonly file: string;
  /** Labels of the fixed machines that the quick start makes. */
  readonly labels: readonly string[];
  /** Labels of machines of the user. */
  readonly own: readonly string[];
  /** Labels whose nodes are slots of machines made on demand. */
  readonly elastic: readonly ElasticLabel[];
  readonly hosts: readonly LocalHost[];
  /** Nodes there will be when all these hosts are up. */
  readonly slots: number;
  readonly webPort: number;
  /** There are images to build. */
  readonly hasImages: boolean;
}

/** Address of all SSH endpoints and of the launcher's web server. */
export const LOOPBACK = '127.0.0.1';

const DEFAULT_WEB_PORT = 8005;
/** Who logs in to the machines that the quick start makes. */
const DEMO_USER = 'demo';

function maps(parent: unknown, key: string): YAMLMap[] {
  const value: unknown = isMap(parent) ? parent.get(key) : undefined;
  const items = typeof value === 'object' && value !== null && 'items' in value ? value.items : [];
  return (items as unknown[]).filter((item) => isMap(item));
}

function poolsOf(document: Document, driver: string): YAMLMap[] {
  return maps(document.contents, 'providers')
    .filter((provider) => provider.get('driver') === driver)
    .flatMap((provider) => maps(provider, 'pools'));
}

/** Every `nodes` entry of a static provider. */
const staticNodes = (document: Document) => poolsOf(document, 'static').flatMap((pool) => maps(pool, 'nodes'));

/** Every label of a metastatic provider. */
function elasticLabels(document: Document): ElasticLabel[] {
  return poolsOf(document, 'metastatic')
    .flatMap((pool) => maps(pool, 'labels'))
    .map((label) => ({ name: String(label.get('name')), slots: Number(label.get('max-parallel-jobs') ?? 1) }));
}

/** Labels of these machines, in the order in which the configuration lists all labels. */
function labelsOf(document: Document, nodes: readonly YAMLMap[]): string[] {
  const used = new Set(nodes.flatMap((node) => textsOf(node.get('labels', true))));
  return maps(document.contents, 'labels')
    .map((label) => String(label.get('name')))
    .filter((label) => used.has(label));
}

/** `labels` of an entry: a list or one name. */
function textsOf(labels: unknown): string[] {
  return (isSeq(labels) ? labels.items : [labels]).flatMap((text) => String(text).split(' '));
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

/** Replaces a port another process uses. `ours` are ports we serve ourselves at the moment. @returns true when replaced */
async function avoidTakenPort(map: YAMLMap, key: string, port: number, ours: ReadonlySet<number>): Promise<boolean> {
  if (ours.has(port) || (await isPortFree(port))) return false;
  const free = await findFreePort();
  map.set(key, free);
  say(`port ${port} is taken by another program: using ${free} instead`);
  return true;
}

/** Machines of the quick start, which it makes itself. All others are the user's. */
const localNodes = (document: Document) =>
  staticNodes(document).filter((node) => node.get('name') === LOOPBACK && node.get('username') === DEMO_USER);
const portOf = (node: YAMLMap) => Number(node.get('connection-port') ?? 22);

async function read(file: string): Promise<Document> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new QuickStartError(`cannot read the configuration: ${(error as Error).message}`);
  });
  const document = parseDocument(text);
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
  if (!isMap(document.contents)) throw new QuickStartError(`${file}: there is no configuration in it`);
  if (!isMap(document.get('webapp'))) document.set('webapp', document.createNode({}));
  const webapp = document.get('webapp') as YAMLMap;
  const port = Number(webapp.get('port') ?? DEFAULT_WEB_PORT);
  changed = (await avoidTakenPort(webapp, 'port', port, ours)) || changed;
  if (changed) await writeFile(copy, document.toString());
  return describe(document, changed ? copy : file);
}

function describe(document: Document, file: string): QuickStartConfiguration {
  const nodes = localNodes(document);
  return {
    file,
    labels: labelsOf(document, nodes),
    own: labelsOf(
      document,
      staticNodes(document).filter((node) => !nodes.includes(node)),
    ),
    elastic: elasticLabels(document),
    hosts: nodes.map((node) => ({
      port: portOf(node),
      username: DEMO_USER,
    })),
    slots: nodes.reduce((sum, node) => sum + Number(node.get('max-parallel-jobs') ?? 1), 0),
    webPort: Number(document.getIn(['webapp', 'port']) ?? DEFAULT_WEB_PORT),
    hasImages: maps(document.contents, 'diskimages').length > 0,
  };
}
