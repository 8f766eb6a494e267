import { fetchService } from '@nodepool/core/service';
import { isUrl } from '../replay/fetch-past.js';

const ANSWER_MS = 10_000;

/**
 * Asks launchers which nodes exist now. A folder does not know, and a launcher that does not answer is left out.
 * @returns whether a node exists; `undefined`: unknown
 */
export async function findExistingNodes(sources: readonly string[]): Promise<(node: string) => boolean | undefined> {
  const answers = await Promise.all(sources.filter(isUrl).map(nodesOf));
  const known = answers.filter((nodes) => nodes !== undefined);
  if (known.length === 0) return () => undefined;
  // all launchers see the same nodes
  const nodes = new Set(known.flat());
  return (node) => nodes.has(node);
}

async function nodesOf(url: string): Promise<string[] | undefined> {
  try {
    const target = new URL('node-list?json_fields=id', url.endsWith('/') ? url : `${url}/`);
    const headers = { Accept: 'application/json' };
    const response = await fetchService(target, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
    const body: unknown = response.ok ? await response.json() : undefined;
    return Array.isArray(body) ? body.map((node) => String((Object(node) as { id?: unknown }).id)) : undefined;
  } catch {
    return undefined;
  }
}
