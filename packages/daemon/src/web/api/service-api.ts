import type { JsonObject } from '@nodepool/zk-protocol';
import type { ApiEvent } from './events.js';
import type { ApiPart } from './operation.js';

/** The part of a service in the API below `/api/v1` and in the status page. */
export interface ServiceApi extends ApiPart {
  /** Data of the status page. Must not change with time alone. */
  overview(): JsonObject;
  /** Calls the listener for each change. @returns unsubscribes */
  subscribe(listener: (event: ApiEvent) => void): () => void;
}
