import { readFile } from 'node:fs/promises';
import type * as Api from '@opentelemetry/api';
import type { Context, Span, Tracer } from '@opentelemetry/api';
import type * as Exporter from '@opentelemetry/exporter-trace-otlp-http';
import type * as Resources from '@opentelemetry/resources';
import type * as Sdk from '@opentelemetry/sdk-trace-base';
import type { NodeRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { RequestOutcome } from '@nodepool/core/service';
import type { Launcher } from '@nodepool/core/launcher';

/** Options of {@link startTraces}. */
export interface TracesOptions {
  readonly runtime: Pick<Launcher, 'events' | 'nodes' | 'requests'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hostname: string;
  readonly version: string;
  readonly logger: Logger;
  readonly now: () => number;
  /** Default: imports the installed packages of OpenTelemetry. */
  readonly load?: () => Promise<OpenTelemetry>;
}

type OpenTelemetry = [typeof Api, typeof Sdk, typeof Exporter, typeof Resources];

/** A running exporter of traces. */
export interface Traces {
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** Limit of open requests and launches in memory; beyond it, the oldest are dropped. */
const MAX_REMEMBERED = 20_000;
const LAUNCHED: ReadonlySet<string> = new Set(['ready', 'in-use']);
const FAILED: ReadonlySet<string> = new Set(['failed', 'aborted', 'deleting']);

/** The launch of a node for a request. */
interface LaunchSpan {
  readonly node: NodeRecord;
  readonly beganMs: number;
  endedMs: number | undefined;
  ok: boolean;
}

/**
 * Sends one trace per request that this launcher handled: the request, its wait for a pool, and the launch of each node.
 * @returns `undefined` if the environment has neither `OTEL_EXPORTER_OTLP_ENDPOINT` nor `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`; then
 * OpenTelemetry is not loaded
 * @throws {Error} the packages of OpenTelemetry are not installed, with the command that installs them
 */
export async function startTraces(options: TracesOptions): Promise<Traces | undefined> {
  const { env, hostname, version, load = loadOpenTelemetry } = options;
  if (!env['OTEL_EXPORTER_OTLP_ENDPOINT'] && !env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) return undefined;
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await load().catch(explainMissing);
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': env['OTEL_SERVICE_NAME'] ?? 'nodepool-launcher',
      'service.version': version,
      'host.name': hostname,
    }),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const scope = (span: Span): Context => api.trace.setSpan(api.ROOT_CONTEXT, span);
  const end = followRequests(options, provider.getTracer('nodepool', version), scope);
  options.logger.info('Sending traces of requests', { endpoint: 'from OTEL_EXPORTER_OTLP_ENDPOINT' });
  return {
    async close() {
      end();
      await provider
        .shutdown()
        .catch((error: unknown) => options.logger.warn('Failed to send the last traces', { error }));
    },
  };
}

/** The packages are optional because they would be most of the size of a launcher. */
function loadOpenTelemetry(): Promise<OpenTelemetry> {
  return Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
}

/** @throws {Error} always: with the command that installs missing packages, or the error itself */
async function explainMissing(error: unknown): Promise<never> {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  const { peerDependencies } = JSON.parse(manifest) as { readonly peerDependencies: Readonly<Record<string, string>> };
  const packages = Object.entries(peerDependencies).map(([name, range]) => `${name}@${range}`);
  const message =
    `OpenTelemetry is not installed: where @nodepool/launcher is installed, run: npm install ${packages.join(' ')}; ` +
    'or unset OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  throw new Error(message, { cause: error });
}

function followRequests(options: TracesOptions, tracer: Tracer, scope: (span: Span) => Context): () => void {
  const accepted = new Map<string, number>();
  const launches = new Map<string, Map<string, LaunchSpan>>();
  const unsubscribe = [
    options.runtime.requests.onChange(({ id, before, after }) => {
      if (after?.state === 'pending' && before?.state !== 'pending') remember(accepted, id, after.stateTimeMs);
    }),
    options.runtime.nodes.onChange((change) => followNode(launches, change, options.now())),
    options.runtime.events.on('requestEnded', ({ outcome, request }) => {
      if (outcome !== 'fulfilled' && outcome !== 'declined') return;
      const times = { acceptedMs: accepted.get(request.id), endedMs: options.now() };
      writeTrace({ tracer, scope }, request, outcome, times, launches.get(request.id));
      accepted.delete(request.id);
      launches.delete(request.id);
    }),
  ];
  return () => {
    for (const each of unsubscribe) each();
  };
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

function followNode(
  launches: Map<string, Map<string, LaunchSpan>>,
  { id, before, after }: RecordChange<NodeRecord>,
  nowMs: number,
): void {
  const requestId = after?.allocatedTo ?? before?.allocatedTo;
  if (!requestId) return;
  const known = launches.get(requestId)?.get(id);
  if (after?.state === 'building' && !known) {
    const ofRequest = launches.get(requestId) ?? new Map<string, LaunchSpan>();
    ofRequest.set(id, { node: after, beganMs: after.stateTimeMs, endedMs: undefined, ok: false });
    remember(launches, requestId, ofRequest);
    return;
  }
  if (!known || known.endedMs !== undefined) return;
  if (after && LAUNCHED.has(after.state)) Object.assign(known, { endedMs: nowMs, ok: true, node: after });
  else if (!after || FAILED.has(after.state)) Object.assign(known, { endedMs: nowMs, node: after ?? known.node });
}

function writeTrace(
  { tracer, scope }: { tracer: Tracer; scope: (span: Span) => Context },
  request: RequestRecord,
  outcome: RequestOutcome,
  { acceptedMs, endedMs }: { acceptedMs: number | undefined; endedMs: number },
  launches: ReadonlyMap<string, LaunchSpan> = new Map(),
): void {
  const createdMs = Math.min(request.createdTimeMs ?? request.stat?.ctime ?? endedMs, endedMs);
  const attributes = {
    'nodepool.request': request.id,
    'nodepool.labels': [...request.labels],
    'nodepool.outcome': outcome,
    ...(request.tenantName !== null && { 'nodepool.tenant': request.tenantName }),
    ...(request.eventId !== null && { 'zuul.event_id': request.eventId }),
  };
  const root = tracer.startSpan('node request', { root: true, startTime: new Date(createdMs), attributes });
  const parent = scope(root);
  const waitedUntilMs = Math.min(endedMs, Math.max(createdMs, acceptedMs ?? createdMs));
  tracer.startSpan('wait for a pool', { startTime: new Date(createdMs) }, parent).end(new Date(waitedUntilMs));
  for (const { node, beganMs, endedMs: launchEndedMs = endedMs, ok } of launches.values()) {
    const of = {
      'nodepool.node': node.id,
      'nodepool.provider': node.provider ?? '',
      'nodepool.pool': node.pool ?? '',
      ...(node.launchError !== null && { 'nodepool.launch_error': node.launchError }),
    };
    const span = tracer.startSpan('launch', { startTime: new Date(beganMs), attributes: of }, parent);
    if (!ok) span.setStatus({ code: 2 });
    span.end(new Date(Math.max(beganMs, launchEndedMs)));
  }
  if (outcome !== 'fulfilled') root.setStatus({ code: 2, message: outcome });
  root.end(new Date(endedMs));
}
