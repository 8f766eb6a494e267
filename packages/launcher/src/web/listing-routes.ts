import type { Clock } from '@nodepool/zk-protocol';
import { extendedNodeListing, labelListing, labelsOf, nodeListing, requestListing } from '@nodepool/core/service';
import type { NodeRow } from '@nodepool/core/service';
import { createImageRoutes, listingRoute } from '@nodepool/daemon';
import type { RouteTable } from '@nodepool/daemon';
import type { Launcher } from '@nodepool/core/launcher';

type Records = Pick<Launcher, 'nodes' | 'requests' | 'components' | 'images'>;

function* nodeRows(nodes: Records['nodes'], nodeId: string | null): Generator<NodeRow> {
  if (nodeId !== null) {
    const node = nodes.get(nodeId);
    if (node) yield { node, locked: nodes.contenders(nodeId) > 0 };
    return;
  }
  for (const node of nodes.values()) yield { node, locked: nodes.contenders(node.id) > 0 };
}

/** Listings from the caches of the launcher; they cause no load on ZooKeeper. */
export function createListingRoutes(records: Records, clock: Clock): RouteTable {
  return new Map([
    ...createImageRoutes(() => records.images, clock),
    [
      '/node-list',
      listingRoute(clock, {
        listing: nodeListing,
        selectable: extendedNodeListing,
        detail: true,
        idParameter: 'node_id',
        recordOf: ({ node }) => node,
        rows: ({ parameters }) => nodeRows(records.nodes, parameters.get('node_id')),
      }),
    ],
    [
      '/request-list',
      listingRoute(clock, {
        listing: requestListing,
        recordOf: (request) => request,
        rows: () => records.requests.values(),
      }),
    ],
    ['/label-list', listingRoute(clock, { listing: labelListing, rows: () => labelsOf(records.components) })],
  ]);
}
