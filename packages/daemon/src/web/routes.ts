import type { Representation } from './accept.js';

/** Parameters of a route. */
export interface RouteQuery {
  readonly representation: Representation;
  readonly parameters: URLSearchParams;
}

/** A listing as text or JSON, as the client prefers, cached for a second. */
export interface ListingRoute {
  readonly kind: 'listing';
  /** Canonical parameters: without unknown ones, in a fixed order, so that equivalent queries share a cached answer. */
  normalize(parameters: URLSearchParams): URLSearchParams;
  /** Whether an answer is too cheap to be worth a place in the cache. */
  isCheap(parameters: URLSearchParams): boolean;
  /** Yields the answer in small parts. Reads all mutable data before the first. @param query - with canonical parameters */
  render(query: RouteQuery): Iterable<string>;
}

/** Answer of a {@link LiveRoute}. */
export interface LiveAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Computes an answer for each call, regardless of `Accept`. */
export interface LiveRoute {
  readonly kind: 'live';
  /** Whether pages of other origins may read the answer. Default: no. */
  readonly isPublic?: boolean;
  answer(): LiveAnswer | Promise<LiveAnswer>;
}

/** An answer that all callers within a second share, regardless of `Accept`: it costs more the more there is. */
export interface SharedRoute {
  readonly kind: 'shared';
  readonly contentType: string;
  text(): string | Promise<string>;
}

/** Computes an answer from all parameters for each call, within the {@link ComputeBudget}, as text or JSON. */
export interface QueryRoute {
  readonly kind: 'query';
  answer(query: RouteQuery): LiveAnswer;
}

/** Answer of a {@link FileRoute}. */
export interface FileAnswer extends Omit<LiveAnswer, 'body'> {
  readonly body: Buffer | string;
}

/** Reads a file for each call with one of `api-tokens`, regardless of `Accept`. */
export interface FileRoute {
  readonly kind: 'file';
  answer(parameters: URLSearchParams): Promise<FileAnswer>;
}

/** A route of any kind. */
export type Route = ListingRoute | LiveRoute | SharedRoute | QueryRoute | FileRoute;

/** Routes by exact path. */
export type RouteTable = ReadonlyMap<string, Route>;
