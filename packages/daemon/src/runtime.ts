import type { Config, LogFields } from '@nodepool/core';
import type { ConditionSource } from '@nodepool/core/service';
import type { ShownConditions } from './web/api/condition-api.js';
import type { ServiceApi } from './web/api/service-api.js';
import type { RouteTable } from './web/routes.js';

/** The part of a service that differs between launcher and builder. */
export interface DaemonRuntime {
  /** Resolves when the service serves requests. @param webUrl - URL of its web server for other programs */
  start(webUrl: string | undefined): Promise<void>;
  /** Applies a changed configuration; unchanged parts keep running. */
  reconfigure(config: Config): Promise<void>;
  /** Names of parts that are not ready, for operators; empty when ready. */
  readonly notReady: readonly string[];
  /** Accepts no new work, and finishes work in progress within the deadline. */
  drain(deadlineMs: number): Promise<void>;
  /** Resolves when what must not be interrupted has ended, so that others can continue the rest. Default: nothing. */
  endOrders?(): Promise<void>;
  /** Stops without waiting for work in progress. */
  stop(): Promise<void>;
  /** Fields of the log line that says the service has started. */
  startedFields(): LogFields;
  /** Source of its conditions. */
  readonly conditions: ConditionSource;
  /** Members of `/healthz` in addition to those of every service. */
  health(): Readonly<Record<string, unknown>>;
  /** Describes its state as lines for the log. */
  dump(nowMs: number): readonly string[];
  /** Routes in addition to `/ready`, `/healthz` and `/metrics`. */
  routes(conditions: ShownConditions): RouteTable;
  /** Its part of the web API and the status page. */
  api(conditions: ShownConditions): ServiceApi;
}
