import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });
const LIMIT_MS = 60_000;

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

let collector: Server;
let spans: SentSpan[];

/** Receives OpenTelemetry data over HTTP. */
beforeAll(async () => {
  spans = [];
  collector = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
    incoming.on('end', () => {
      const body = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
      spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
});

it(
  'a launcher sends one trace for each served request, with its event id',
  async () => {
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')), {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' },
    });
    const zuul = await get().newClient();
    const node = await zuul.getNode('small');
    await zuul.giveBack([node]);
    const roots = () => spans.filter(({ name }) => name === 'node request');
    await expect.poll(() => roots().length, { timeout: LIMIT_MS }).toBe(1);
    const [root] = roots();

    const named = root?.attributes.map(({ key }) => key);
    expect(named).toContain('nodepool.request');
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([root?.traceId]));
  },
  4 * LIMIT_MS,
);
