import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { LauncherEvents } from '@nodepool/core/launcher';
import type { NodeRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import { node, nodeTable, request, tableCache } from '../../test/support/world.js';
import { startTraces, type TracesOptions } from './traces.js';

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

let server: Server;
let sent: SentSpan[];
const saved = process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];

beforeEach(async () => {
  sent = [];
  server = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
    incoming.on('end', () => {
      const body = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
      sent.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  if (saved === undefined) delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  else process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = saved;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

type Change<T> = (change: RecordChange<T>) => void;

/** A launcher whose records change when the test says so. */
function stage(env: TracesOptions['env']) {
  const requests: Change<RequestRecord>[] = [];
  const nodes: Change<NodeRecord>[] = [];
  const events = new LauncherEvents();
  const listen =
    <T>(to: T[]) =>
    (listener: T) => {
      to.push(listener);
      return () => {};
    };
  const options: TracesOptions = {
    runtime: {
      events,
      requests: { ...tableCache<RequestRecord>({}), onChange: listen(requests) },
      nodes: { ...nodeTable([], []), onChange: listen(nodes) },
    },
    ...{ env, hostname: 'nl01', version: '1.2.3', logger: silentLogger, now: () => 9_000 },
  };
  return {
    options,
    request: (before: RequestRecord, after: RequestRecord) => {
      for (const notify of requests) notify({ id: after.id, before, after });
    },
    node: (before: NodeRecord | undefined, after: NodeRecord) => {
      for (const notify of nodes) notify({ id: after.id, before, after });
    },
    outcome: (of: RequestRecord) => {
      events.emit('requestEnded', { outcome: 'fulfilled', request: of, provider: 'rack', pool: 'main' });
    },
  };
}

it('sends one trace a request, with its wait and the launch of each node', async () => {
  const { options, ...launcher } = stage(process.env);
  const traces = await startTraces(options);
  const asked = request('200-0000000001', { createdTimeMs: 1_000, stateTimeMs: 1_000 });
  const building = node('0000000007', { state: 'building', stateTimeMs: 4_000, allocatedTo: asked.id });
  launcher.request(asked, { ...asked, state: 'pending', stateTimeMs: 3_000 });
  launcher.node(undefined, building);
  launcher.node(building, { ...building, state: 'ready' });
  launcher.outcome(asked);
  await traces?.close();

  const times = ({ startTimeUnixNano, endTimeUnixNano }: SentSpan) =>
    [startTimeUnixNano, endTimeUnixNano].map((nanos) => Number(BigInt(nanos) / 1_000_000n));
  const spans = Object.fromEntries(sent.map((span) => [span.name, span]));
  const root = spans['node request'];
  expect(sent.map((span) => [span.name, ...times(span)]).sort()).toEqual([
    ['launch', 4_000, 9_000],
    ['node request', 1_000, 9_000],
    ['wait for a pool', 1_000, 3_000],
  ]);
  expect(new Set(sent.map(({ traceId }) => traceId)).size).toBe(1);
  expect([spans['launch']?.parentSpanId, spans['wait for a pool']?.parentSpanId]).toEqual([root?.spanId, root?.spanId]);
  expect(root?.attributes).toContainEqual({ key: 'nodepool.request', value: { stringValue: '200-0000000001' } });
});

it('does nothing unless an endpoint is configured', async () => {
  expect(await startTraces(stage({}).options)).toBeUndefined();
  expect(sent).toEqual([]);
});

it('explains how to install OpenTelemetry if it is missing', async () => {
  const { options } = stage(process.env);
  const missing = Object.assign(new Error("Cannot find package '@opentelemetry/api'"), {
    code: 'ERR_MODULE_NOT_FOUND',
  });

  await expect(startTraces({ ...options, load: () => Promise.reject(missing) })).rejects.toThrow(
    /OpenTelemetry is not installed: .* npm install @opentelemetry\/api@\^1.* @opentelemetry\/sdk-trace-base@\^2.*; or unset OTEL_/,
  );
});
