import type { ServerModel } from './model/server-model.js';
import type { ClientConnection } from './client-connection.js';

/** Data for the replies to four-letter words. */
export interface ServerStatus {
  model: ServerModel;
  connections: ReadonlySet<ClientConnection>;
  received: number;
  sent: number;
  startedAtMs: number;
  nowMs: number;
  configuration: Record<string, string | number>;
}

type Command = (status: ServerStatus) => string;

const NAME = 'Nodepool embedded ZooKeeper';
/** Protocol version; tools read it from the first line. */
const VERSION = `3.8.0-${NAME.replaceAll(' ', '-').toLowerCase()}`;

const commands = new Map<string, Command>([
  ['ruok', () => 'imok'],
  ['isro', () => 'rw'],
  ['srvr', (status) => `Zookeeper version: ${VERSION}\n${summary(status)}`],
  ['stat', (status) => `Zookeeper version: ${VERSION}\nClients:\n${clients(status)}\n${summary(status)}`],
  ['cons', (status) => `${clients(status)}\n`],
  ['mntr', monitor],
  ['dump', dump],
  ['wchs', watchSummary],
  ['wchc', watchesBySession],
  ['conf', ({ configuration }) => lines(Object.entries(configuration).map(([key, value]) => `${key}=${value}`))],
  [
    'envi',
    () =>
      lines([
        'Environment:',
        `zookeeper.version=${VERSION}`,
        `node.version=${process.version}`,
        `os.name=${process.platform}`,
      ]),
  ],
]);

/** Words whose replies contain no paths, sessions or clients. */
const PUBLIC = new Set(['ruok', 'isro', 'srvr', 'mntr', 'wchs', 'envi']);

/** Whether the reply to a word needs no login. */
export function isPublic(word: string): boolean {
  return PUBLIC.has(word) || !commands.has(word);
}

/** Reply to a four-letter word; `undefined` for an unknown one. */
export function answerCommand(word: string, status: ServerStatus): string | undefined {
  return commands.get(word)?.(status);
}

function summary({ model, connections, received, sent }: ServerStatus): string {
  return lines([
    'Latency min/avg/max: 0/0.0/0',
    `Received: ${received}`,
    `Sent: ${sent}`,
    `Connections: ${connections.size}`,
    'Outstanding: 0',
    `Zxid: 0x${model.lastZxid.toString(16)}`,
    'Mode: standalone',
    `Node count: ${model.tree.size}`,
  ]);
}

function clients({ connections }: ServerStatus): string {
  return lines(
    [...connections].map(
      ({ address, sessionId, received, sent, queuedBytes }) =>
        ` /${address}[1](queued=${queuedBytes},recved=${received},sent=${sent},sid=0x${sessionId.toString(16)})`,
    ),
  );
}

function monitor({ model, connections, received, sent, startedAtMs, nowMs }: ServerStatus): string {
  const values: Record<string, string | number> = {
    version: VERSION,
    server_state: 'standalone',
    uptime: Math.floor(nowMs - startedAtMs),
    packets_received: received,
    packets_sent: sent,
    num_alive_connections: connections.size,
    outstanding_requests: 0,
    znode_count: model.tree.size,
    watch_count: model.watches.data.size + model.watches.child.size,
    ephemerals_count: model.tree.ephemeralCount,
    global_sessions: model.sessions.size,
  };
  return lines(Object.entries(values).map(([key, value]) => `zk_${key}\t${value}`));
}

function dump({ model }: ServerStatus): string {
  const owners = [...model.tree.ephemeralOwners()];
  return lines([
    `Sessions (${model.sessions.size}):`,
    ...[...model.sessions.values()].map(({ id, timeoutMs }) => `0x${id.toString(16)}\t${timeoutMs}ms`),
    `ephemeral nodes dump:`,
    `Sessions with Ephemerals (${owners.length}):`,
    ...owners.flatMap(([id, paths]) => [`0x${id.toString(16)}:`, ...[...paths].map((path) => `\t${path}`)]),
  ]);
}

function watchSummary({ model: { watches } }: ServerStatus): string {
  const watchers = new Set([...watches.data.entries(), ...watches.child.entries()].map(([connection]) => connection));
  return lines([
    `${watchers.size} connections watching ${watches.data.pathCount + watches.child.pathCount} paths`,
    `Total watches:${watches.data.size + watches.child.size}`,
  ]);
}

function watchesBySession({ model: { watches } }: ServerStatus): string {
  return lines(
    [...watches.data.entries(), ...watches.child.entries()].flatMap(([{ sessionId }, paths]) => [
      `0x${sessionId.toString(16)}`,
      ...[...paths].map((path) => `\t${path}`),
    ]),
  );
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}
