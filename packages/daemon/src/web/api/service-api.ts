import type { JsonObject } from '@nodepool/zk-protocol';
import type { ApiEvent } from './events.js';
import type { ApiPart } from './operation.js';

/** What a service adds to the API below `/api/v1` and to the status page. */
export interface ServiceApi extends ApiPart {
  /** What the status page shows at a glance; nothing in it may change with time alone. */
  overview(): JsonObject;
  /** Tells of changes. @returns ends it */
  subscribe(listener: (event: ApiEvent) => void): () => void;
}
