import type { Json, RequestRecord } from '@nodepool/zk-protocol';

/**
 * For which labels of which providers a backing node is asked for, in `requestor_data` of the request: a slot may be
 * asked for as backing node of another provider's slots. Another launcher's configuration may close a circle that no
 * single configuration shows; whoever finds its own label in a request's chain refuses.
 */
export function chainOf({ requestor, requestorData }: RequestRecord): readonly string[] {
  const data = isObject(requestorData) ? requestorData : {};
  const { chain, label } = data;
  if (Array.isArray(chain)) return chain.filter((link) => typeof link === 'string');
  // a launcher that does not write chains tells its own link at least
  return typeof label === 'string' && requestor !== null ? [linkOf(requestor, label)] : [];
}

/** Whether a node of the label for this request would be a backing node of itself. */
export function isCircular(request: RequestRecord, owner: string, label: string): boolean {
  return chainOf(request).includes(linkOf(owner, label));
}

/** How a label of a provider stands in a chain. */
function linkOf(owner: string, label: string): string {
  return `${owner}/${label}`;
}

/** What is stored with a backing request: its label, so that labels with one backing label are told apart, and its chain. */
export function requestorDataFor(owner: string, label: string, chains: Iterable<readonly string[]>): Json {
  const chain = new Set<string>();
  for (const each of chains) for (const link of each) chain.add(link);
  return { label, chain: [...chain, linkOf(owner, label)] };
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
