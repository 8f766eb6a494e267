/** An interval during which a request waited for one thing, or a node was in one state. Times are UNIX times in seconds. */
export interface TimelineInterval {
  readonly begin_time: number;
  /** `null`: it has not ended. */
  readonly end_time: number | null;
  readonly cause: string;
  readonly text: string;
}

/** A decision or an event. */
export interface TimelineEvent {
  readonly time: number;
  readonly launcher: string;
  readonly pool: string | null;
  readonly node: string | null;
  readonly what: string;
  readonly rule: string | null;
  readonly text: string;
}

/** What launchers answer at `/api/v1/requests/ID/timeline` and `/api/v1/nodes/ID/timeline`. */
export interface Timeline {
  readonly id: string;
  readonly kind: 'request' | 'node';
  readonly labels: readonly string[];
  readonly nodes: readonly string[];
  readonly request: string | null;
  readonly requestor: string | null;
  readonly tenant_name: string | null;
  readonly created_time: number | null;
  readonly state: string;
  readonly ended_time: number | null;
  readonly intervals: readonly TimelineInterval[];
  readonly events: readonly TimelineEvent[];
  /** Launchers that did not answer. */
  readonly silent: readonly { readonly url: string; readonly error: string }[];
}

/** Whether an answer is a timeline. */
export function isTimeline(value: unknown): value is Timeline {
  if (typeof value !== 'object' || value === null) return false;
  const { id, intervals, events, labels, nodes, silent } = value as Record<string, unknown>;
  return typeof id === 'string' && [intervals, events, labels, nodes, silent].every(Array.isArray);
}

/** Ids of requests have a dash, those of nodes have none. */
export function kindOf(id: string): Timeline['kind'] {
  return id.includes('-') ? 'request' : 'node';
}
