import type { Clock } from '@nodepool/zk-protocol';
import { ListingJsonWriter, listingTableParts } from '@nodepool/core/service';
import type { Listing } from '@nodepool/core/service';
import type { ListingRoute, RouteQuery } from './routes.js';

function fieldSet(text: string | null): ReadonlySet<string> | undefined {
  return text === null || text === '' ? undefined : new Set(text.split(',').map((field) => field.trim()));
}

/** The known fields, each once and sorted; `undefined` if no fields are selected. */
function normalFields(text: string | null, known: ReadonlySet<string>): string | undefined {
  const fields = fieldSet(text);
  return (
    fields &&
    [...fields]
      .filter((field) => known.has(field))
      .sort()
      .join(',')
  );
}

/** Options of {@link listingRoute}. */
export interface ListingRouteOptions<Row> {
  /** Columns by default, in text and JSON. */
  listing: Listing<Row>;
  /** Columns that `json_fields` and `fields` may name; default `listing`. */
  selectable?: Listing<Row>;
  detail?: boolean;
  /** The parameter that selects a single row, if any. */
  idParameter?: string;
  rows(query: RouteQuery): Iterable<Row>;
  /** The immutable object that a row shows, by which its JSON is cached. */
  readonly recordOf?: (row: Row) => object;
}

/** A route that answers rows as a table or as JSON. */
export function listingRoute<Row>(clock: Clock, options: ListingRouteOptions<Row>): ListingRoute {
  const selectable = options.selectable ?? options.listing;
  const known = new Set(selectable.map(({ key }) => key));
  const { idParameter } = options;
  const whole = new ListingJsonWriter(options.listing, options.recordOf);
  return {
    kind: 'listing',
    normalize(parameters) {
      const normal = new URLSearchParams();
      for (const name of ['fields', 'json_fields']) {
        const fields = normalFields(parameters.get(name), known);
        if (fields !== undefined) normal.set(name, fields);
      }
      const id = idParameter === undefined ? null : parameters.get(idParameter);
      if (idParameter !== undefined && id !== null) normal.set(idParameter, id);
      return normal;
    },
    isCheap: (parameters) => idParameter !== undefined && parameters.has(idParameter),
    *render({ representation, parameters }) {
      const rows = options.rows({ representation, parameters });
      if (representation === 'json') {
        const fields = namedFields(parameters.get('json_fields'));
        const chosen = fields && selectable.filter(({ key }) => fields.has(key));
        yield* (chosen ? new ListingJsonWriter(chosen) : whole).parts(rows, clock.now());
        return;
      }
      const fields = namedFields(parameters.get('fields'));
      yield* listingTableParts(selectable, rows, clock.now(), { detail: options.detail, fields });
      yield '\n';
    },
  };
}

/** Parses the result of {@link normalFields}. */
function namedFields(text: string | null): ReadonlySet<string> | undefined {
  return text === null ? undefined : new Set(text.split(','));
}
