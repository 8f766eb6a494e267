/* The command line and the process */
export type {
  ArgumentsToArgv,
  CommandLine,
  CommonArguments,
  ParsedOptions,
  ParseContext,
  PrintAndExit,
} from './arguments.js';
export { COMMON_TO_ARGV, parseCommandLine, UsageError } from './arguments.js';
export { daemonArgv } from './detach.js';
export type { Program, ServiceContext } from './program.js';
export { runProgram } from './run-program.js';

export { serviceManPage } from './man-page.js';

/* The service */
export type { ServiceBase, ServicePlan } from './assemble-service.js';
export { assembleService } from './assemble-service.js';
export type { DaemonRuntime } from './runtime.js';
export { DaemonService, type ServiceParts } from './service.js';
export { Reloader } from './reloader.js';
export { alienToHealth } from './health.js';
export { createServiceMetrics } from './service-metrics.js';
export { countBy } from './state-dump.js';

/* The web server */
export type { FileAnswer, ListingRoute, LiveAnswer, LiveRoute } from './web/routes.js';
export type { Route, RouteQuery, RouteTable } from './web/routes.js';
export { createImageRoutes, createImageWorkRoutes } from './web/image-routes.js';
export type { ListingRouteOptions } from './web/listing-route.js';
export { listingRoute } from './web/listing-route.js';
export type { WebServer, WebServerOptions } from './web/server.js';
export { authorize } from './web/authorize.js';
export { startWebServer } from './web/server.js';
export { createStatusRoutes } from './web/status-routes.js';

/* The web API and the status page */
export { ApiError } from './web/api-error.js';
export { EVENT_STREAM_HEADERS } from './web/event-stream-headers.js';
export type { ApiEvent } from './web/api/events.js';
export type { ShownConditions } from './web/api/condition-api.js';
export { conditionToApi } from './web/api/condition-api.js';
export { createImageApi, imageToApi } from './web/api/image-api.js';
export type { ApiCall, ApiOperation, ApiPart } from './web/api/operation.js';
export type { Caller, Credentials } from './web/gate.js';
export {
  FLAG,
  joinParts,
  listOf,
  NUMBER,
  NUMBERS,
  orNull,
  record,
  ref,
  TEXT,
  TIME,
  WHOLE,
} from './web/api/operation.js';
export type { ServiceApi } from './web/api/service-api.js';
