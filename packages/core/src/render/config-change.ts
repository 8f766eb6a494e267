import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { ConfigChange, PartChange, RequestChange } from '../launcher/preview/types.js';
import { escapeControlCharacters } from '@nodepool/zk-protocol';

/** Effects of a new configuration, as in `nodepool plan --json`. */
export function configChangeToJson(change: ConfigChange): JsonObject {
  return {
    labels: { gained: [...change.labels.gained], lost: [...change.labels.lost] },
    providers: change.providers.map(partToJson),
    pools: change.pools.map(partToJson),
    limits: change.limits.map((limit) => ({ ...limit })),
    register: change.register.map(({ provider, what, labels, count }) => ({
      ...{ provider, what, count },
      labels: [...labels],
    })),
    delete: change.delete.map(({ provider, node, why }) => ({ provider, node, why })),
    standby: change.freeNodes.map((item) => ({ ...item })),
    kept: change.kept.map((item) => ({ ...item })),
    requests: {
      waiting: change.waiting,
      servable: change.servable.map(requestToJson),
      hopeless: change.hopeless.map(requestToJson),
    },
  };
}

function partToJson({ name, change }: PartChange): Json {
  return { name, change };
}

function requestToJson({ request, labels, why }: RequestChange): Json {
  return { request, labels: [...labels], why: [...why] };
}

/** Maximum number of lines per section. A summary line counts the rest. */
const LONGEST_LIST = 50;

/**
 * Effects of a new configuration as text.
 * @param options - `isOffline`: only files were compared, without the requests in ZooKeeper
 * @returns lines joined by `\n`, without a final one
 */
export function configChangeToText(change: ConfigChange, { isOffline = false }: { isOffline?: boolean } = {}): string {
  const sections = sectionsOf(change);
  if (isOffline) {
    if (sections.length === 0) return 'Nothing would change.';
    return sections.map(escapeControlCharacters).join('\n').trimStart();
  }
  const waiting = `${change.waiting} ${change.waiting === 1 ? 'request waits' : 'requests wait'}`;
  if (sections.length === 0) return `Nothing would change (${waiting}).`;
  return [...sections, '', `${waiting}; ${summaryOf(change)}`].map(escapeControlCharacters).join('\n').trimStart();
}

function sectionsOf(change: ConfigChange): string[] {
  return [
    section('Labels', [
      ...change.labels.gained.map((label) => `+ ${label}`),
      ...change.labels.lost.map((label) => `- ${label}`),
    ]),
    section('Providers', change.providers.map(providerText)),
    section('Pools', change.pools.map(partText)),
    section(
      'Limits',
      change.limits.map(({ what, before, after }) => `~ ${what}: ${before} -> ${after}`),
    ),
    section(
      'Nodes to be registered',
      change.register.map(
        ({ provider, what, labels, count }) => `+ ${count} on ${provider}/${what} (${labels.join(', ')})`,
      ),
    ),
    section(
      'Standby nodes to be launched',
      change.freeNodes.map(({ label, count }) => `+ ${count} of ${label}`),
    ),
    section(
      'Nodes to be deleted',
      change.delete.map(({ provider, node, why }) => `- ${node} of ${provider}: ${why}`),
    ),
    section(
      'Nodes that stay',
      change.kept.map(({ name, count, text }) => `! ${count} of ${name}: ${text}`),
    ),
    section(
      'Waiting requests that become servable',
      change.servable.map((item) => `+ ${requestText(item)}`),
    ),
    section(
      'Waiting requests that become hopeless',
      change.hopeless.map((item) => `- ${requestText(item)}`),
    ),
  ].flat();
}

function summaryOf({ servable, hopeless }: ConfigChange): string {
  if (servable.length + hopeless.length === 0) return 'what can be served stays the same.';
  return `${servable.length} would become servable, ${hopeless.length} hopeless.`;
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, LONGEST_LIST).map((line) => `  ${line}`);
  const rest = lines.length - shown.length;
  return ['', `${title}:`, ...shown, ...(rest > 0 ? [`  ... and ${rest} more`] : [])];
}

const MARKS = { added: '+', removed: '-', changed: '~' } as const;

function partText({ name, change }: PartChange): string {
  return `${MARKS[change]} ${name}`;
}

function providerText(part: PartChange): string {
  return part.change === 'changed'
    ? `${partText(part)}: set up again without an interruption of requests`
    : partText(part);
}

function requestText({ request, labels, why }: RequestChange): string {
  return `${request} (${labels.join(', ')}): ${why.join('; ')}`;
}
