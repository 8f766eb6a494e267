import { isMap, type Json, type RequestRecord } from '@nodepool/zk-protocol';

/**
 * The labels and providers that a backing node is requested for, from `requestor_data` of the request. A slot may be the
 * backing node of another provider's slots. The configurations of several launchers may together form a cycle. A
 * launcher that finds its own label in the chain of a request refuses it.
 */
export function chainOf({ requestor, requestorData }: RequestRecord): readonly string[] {
  const data = isMap(requestorData) ? requestorData : {};
  const { chain, label } = data;
  if (Array.isArray(chain)) return chain.filter((link) => typeof link === 'string');
  // A launcher that does not write chains still names its own label.
  return typeof label === 'string' && requestor !== null ? [linkOf(requestor, label)] : [];
}

/** Whether a node of the label, for this request, would be its own backing node. */
export function isCircular(request: RequestRecord, owner: string, label: string): boolean {
  return chainOf(request).includes(linkOf(owner, label));
}

/** Entry of a label of a provider in a chain. */
function linkOf(owner: string, label: string): string {
  return `${owner}/${label}`;
}

/** `requestor_data` of a backing request: its label, as several labels may share a backing label, and its chain. */
export function requestorDataFor(owner: string, label: string, chains: Iterable<readonly string[]>): Json {
  const chain = new Set<string>();
  for (const each of chains) for (const link of each) chain.add(link);
  return { label, chain: [...chain, linkOf(owner, label)] };
}
