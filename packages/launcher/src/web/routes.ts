import type { Representation } from './accept.js';

/** What a route is asked. */
export interface RouteQuery {
  readonly representation: Representation;
  readonly parameters: URLSearchParams;
}

/** Data that is written as text or JSON by what the client prefers, and kept for a second. */
export interface ListingRoute {
  readonly kind: 'listing';
  /** Query parameters the answer depends on; others are ignored. */
  readonly parameters: readonly string[];
  render(query: RouteQuery): string;
}

/** What a {@link LiveRoute} answers. */
export interface LiveAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** An answer computed for each call, the same for every `Accept`. */
export interface LiveRoute {
  readonly kind: 'live';
  answer(): LiveAnswer | Promise<LiveAnswer>;
}

/** An answer computed for each call from all query parameters, as text or JSON by what the client prefers. */
export interface QueryRoute {
  readonly kind: 'query';
  answer(query: RouteQuery): LiveAnswer;
}

/** What a path answers. */
export type Route = ListingRoute | LiveRoute | QueryRoute;

/** Routes by exact path. */
export type RouteTable = ReadonlyMap<string, Route>;
