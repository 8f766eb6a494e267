import type { Config, LogFields } from '@nodepool/core';
import type { ConditionSource } from '@nodepool/core/service';
import type { ShownConditions } from './web/api/condition-api.js';
import type { ServiceApi } from './web/api/service-api.js';
import type { RouteTable } from './web/routes.js';

/** What a service does; the part that differs from one to the other. */
export interface DaemonRuntime {
  /** Resolves when the service does what it is for. @param webUrl - where other programs find its web server */
  start(webUrl: string | undefined): Promise<void>;
  /** Puts another configuration in force without disturbing what did not change. */
  reconfigure(config: Config): Promise<void>;
  /** What is not started yet, in an operator's words; empty when ready. */
  readonly notReady: readonly string[];
  /** Takes nothing new, and completes what can be completed within the deadline. */
  drain(deadlineMs: number): Promise<void>;
  /** Ends everything at once. */
  stop(): Promise<void>;
  /** Fields of the log line that says the service has started. */
  startedFields(): LogFields;
  /** What is wrong with it. */
  readonly conditions: ConditionSource;
  /** Members of `/healthz` beside those of every service. */
  health(): Readonly<Record<string, unknown>>;
  /** Lines for the log when somebody asks what the process is doing. */
  dump(nowMs: number): readonly string[];
  /** Endpoints beside `/ready`, `/healthz` and `/metrics`. */
  routes(conditions: ShownConditions): RouteTable;
  /** What it adds to the web API and the status page. */
  api(conditions: ShownConditions): ServiceApi;
}
