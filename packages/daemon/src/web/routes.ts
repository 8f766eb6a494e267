import type { Representation } from './accept.js';

/** What a route is asked. */
export interface RouteQuery {
  readonly representation: Representation;
  readonly parameters: URLSearchParams;
}

/** Data that is written as text or JSON by what the client prefers, and kept for a second. */
export interface ListingRoute {
  readonly kind: 'listing';
  /**
   * What the answer depends on, in one form for all queries that mean the same: unknown parameters and fields left out,
   * the others in order.
   */
  normalize(parameters: URLSearchParams): URLSearchParams;
  /** Whether an answer is so cheap that keeping it would only push out others. */
  isCheap(parameters: URLSearchParams): boolean;
  /**
   * The answer in pieces, each of which is quickly made; everything that can change is taken at the first.
   * @param query - its parameters are normalized
   */
  render(query: RouteQuery): Iterable<string>;
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
  /** Pages of other origins may read the answer. Default: they may not. */
  readonly isPublic?: boolean;
  answer(): LiveAnswer | Promise<LiveAnswer>;
}

/** An answer computed for each call, in bounds, from all query parameters, as text or JSON by what the client prefers. */
export interface QueryRoute {
  readonly kind: 'query';
  answer(query: RouteQuery): LiveAnswer;
}

/** What a {@link FileRoute} answers. */
export interface FileAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer | string;
}

/** An answer read from a file for each call, from all query parameters, the same for every `Accept`. */
export interface FileRoute {
  readonly kind: 'file';
  /** Where `api-tokens` are configured, only for those who have one. Default: for everybody. */
  readonly needsToken?: boolean;
  answer(parameters: URLSearchParams): Promise<FileAnswer>;
}

/** What a path answers. */
export type Route = ListingRoute | LiveRoute | QueryRoute | FileRoute;

/** Routes by exact path. */
export type RouteTable = ReadonlyMap<string, Route>;
