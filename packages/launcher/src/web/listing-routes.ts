import type { Clock } from '@nodepool/zk-protocol';
import {
  extendedNodeListing,
  labelListing,
  labelsOf,
  listingToJson,
  listingToTable,
  nodeListing,
  requestListing,
} from '@nodepool/core/listing';
import type { Listing, NodeRow } from '@nodepool/core/listing';
import type { LauncherRuntime } from '../runtime.js';
import type { ListingRoute, RouteQuery, RouteTable } from './routes.js';

type Records = Pick<LauncherRuntime, 'nodes' | 'requests' | 'components'>;

function fieldSet(parameters: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const text = parameters.get(name);
  return text === null || text === '' ? undefined : new Set(text.split(',').map((field) => field.trim()));
}

function* nodeRows(nodes: Records['nodes'], nodeId: string | null): Generator<NodeRow> {
  if (nodeId !== null) {
    const node = nodes.get(nodeId);
    if (node) yield { node, locked: nodes.contenders(nodeId) > 0 };
    return;
  }
  for (const node of nodes.values()) yield { node, locked: nodes.contenders(node.id) > 0 };
}

interface ListingRouteOptions<Row> {
  /** Columns by default, in text and JSON. */
  listing: Listing<Row>;
  /** Columns that `json_fields` and `fields` may name; default `listing`. */
  selectable?: Listing<Row>;
  detail?: boolean;
  parameters?: readonly string[];
  rows(query: RouteQuery): Iterable<Row>;
}

function listingRoute<Row>(clock: Clock, options: ListingRouteOptions<Row>): ListingRoute {
  const selectable = options.selectable ?? options.listing;
  return {
    kind: 'listing',
    parameters: ['fields', 'json_fields', ...(options.parameters ?? [])],
    render(query) {
      const rows = options.rows(query);
      if (query.representation === 'json') {
        const fields = fieldSet(query.parameters, 'json_fields');
        return listingToJson(fields ? selectable : options.listing, rows, clock.now(), fields);
      }
      const fields = fieldSet(query.parameters, 'fields');
      return `${listingToTable(selectable, rows, clock.now(), { detail: options.detail, fields })}\n`;
    },
  };
}

/** Listings from the launcher's caches; no call reaches ZooKeeper. */
export function createListingRoutes(records: Records, clock: Clock): RouteTable {
  return new Map([
    [
      '/node-list',
      listingRoute(clock, {
        listing: nodeListing,
        selectable: extendedNodeListing,
        detail: true,
        parameters: ['node_id'],
        rows: ({ parameters }) => nodeRows(records.nodes, parameters.get('node_id')),
      }),
    ],
    ['/request-list', listingRoute(clock, { listing: requestListing, rows: () => records.requests.values() })],
    ['/label-list', listingRoute(clock, { listing: labelListing, rows: () => labelsOf(records.components) })],
  ]);
}
