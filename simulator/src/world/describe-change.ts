import { DATABASE_ID_PATH, type JsonObject } from '@nodepool/zk-protocol';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';

type Change = Parameters<TransactionListener>[0]['changes'][number];

const SHOWN = [
  ...['state', 'allocated_to', 'nodes', 'node_types', 'type', 'hostname', 'slot'],
  ...['relative_priority', 'paused'],
];

/** A change of a znode or session, in a few words for the trace. */
export function describeChange(change: Change): string {
  switch (change.change) {
    case 'createSession':
    case 'closeSession':
      return `${change.change} 0x${change.sessionId.toString(16)}`;
    case 'delete':
      return `delete ${short(change.path)}`;
    case 'setAcl':
      return `setAcl ${change.path}`;
    default:
      if (change.path === DATABASE_ID_PATH) return `${change.change} ${short(change.path)}`; // random in each run
      return `${change.change} ${short(change.path)} ${digest(change.data)}`;
  }
}

function short(path: string): string {
  return path.replace('/nodepool/', '').replace(/([0-9a-f]{8})[0-9a-f]{24}/, '$1');
}

function digest(data: Buffer | null): string {
  if (data?.[0] !== 0x7b) return data?.toString('utf8') ?? '';
  const body = JSON.parse(data.toString('utf8')) as JsonObject;
  const keys = SHOWN.filter((key) => body[key] !== undefined && body[key] !== null);
  return keys.map((key) => `${key}=${JSON.stringify(body[key])}`).join(' ');
}
