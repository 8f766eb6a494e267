import type { Json, JsonObject } from '@nodepool/zk-protocol';

/** A request as the services of the fake cloud see it. */
export interface FakeRequest {
  readonly method: string;
  /** Below the root of the service, without version and project. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly raw: Buffer;
  /** Root of the service as the client sees it. */
  readonly root: string;
}

/** An answer. */
export interface FakeAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** Text is sent as it is. */
  readonly body?: Json | string | undefined;
  /** Followed by text that never ends. */
  readonly endless?: boolean | undefined;
}

/** The refusal of a service, in its own form. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

export function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

export function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** One page of a list, as `limit` and `marker` ask for it. */
export function page(
  items: readonly JsonObject[],
  query: URLSearchParams,
  largest: number,
): { items: JsonObject[]; next: string | undefined } {
  const marker = query.get('marker');
  const start = marker === null ? 0 : items.findIndex((item) => item['id'] === marker) + 1;
  const limit = Math.min(Number(query.get('limit') ?? largest), largest);
  const shown = items.slice(start, start + limit);
  const isMore = start + limit < items.length;
  if (!isMore) return { items: shown, next: undefined };
  const next = new URLSearchParams(query);
  next.set('marker', text(shown.at(-1)?.['id']));
  next.set('limit', String(limit));
  return { items: shown, next: next.toString() };
}
