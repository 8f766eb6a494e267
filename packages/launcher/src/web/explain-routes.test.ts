import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import type { ExplainSubject, RequestExplanation } from '@nodepool/core/launcher';
import { request, tableCache } from '../../test/support/world.js';
import { createExplainRoutes } from './explain-routes.js';
import { startWebServer } from '@nodepool/daemon';
import type { WebServer } from '@nodepool/daemon';
import type { SharedCondition } from '@nodepool/core/service';

const KNOWN = '200-0000000001';

/** Takes longer than a launcher may spend on explanations. */
const DEAR = 'dear';
const DEAR_MS = 600;

function spend(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

function explain(subject: ExplainSubject): RequestExplanation | undefined {
  if ('labels' in subject && subject.labels.includes(DEAR)) spend(DEAR_MS);
  if ('requestId' in subject && subject.requestId !== KNOWN) return undefined;
  const isKnown = 'requestId' in subject;
  return {
    requestId: isKnown ? KNOWN : undefined,
    state: isKnown ? 'requested' : 'not submitted',
    labels: isKnown ? ['small'] : subject.labels,
    requestor: 'zuul\u001b[2J',
    tenant: null,
    nodes: [],
    ageMs: isKnown ? 65_000 : undefined,
    launchError: null,
    pools: [
      {
        provider: 'rack',
        pool: 'main',
        launcherId: 'nl01-PoolWorker.rack-main-0',
        own: true,
        action: 'wait',
        rule: 'label-quota',
        text: '1 of "small" needed, 0 free after requests ahead',
        remedy: 'nodes of the label are returned or added',
        details: { label: 'small', needed: 1, available: 0 },
        position: 3,
        blockers: ['host1 port 22: the name has no address'],
      },
    ],
    launches: [],
  };
}

const notServed: SharedCondition = {
  ...{ kind: 'label', name: 'small', type: 'NotServed', status: 'true', severity: 'error', reason: 'NoNodes' },
  ...{ message: 'no pool can serve it now: rack/main: no node', nextStep: 'repair the hosts', evidence: {} },
  ...{ sinceMs: 0, lastSeenMs: 0, services: ['launcher nl01'] },
};

describe('/explain', () => {
  let server: WebServer;
  let ready = true;
  let nowMs = 0;
  const conditions: { merged: readonly SharedCondition[] } = { merged: [] };

  beforeEach(async () => {
    ready = true;
    conditions.merged = [];
    const requests = tableCache({ [KNOWN]: request(KNOWN) });
    nowMs = 0;
    const clock = { now: () => nowMs, setTimer: () => () => {} };
    const runtime = {
      explain,
      get requests() {
        return { ...requests, ready };
      },
    };
    const routes = createExplainRoutes(runtime, conditions, clock);
    server = await startWebServer({ host: '127.0.0.1', port: 0, routes, clock, logger: silentLogger });
  });
  afterEach(() => server.close());

  const get = async (query: string, accept = '*/*') => {
    const response = await fetch(`http://127.0.0.1:${server.port}/explain${query}`, { headers: { accept } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  it('explains as text why a request waits', async () => {
    const { status, headers, text } = await get(`?request=${KNOWN}`);

    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; charset=UTF-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text.split('\n')).toEqual([
      `Request ${KNOWN} waits for pool "rack/main", 3 ahead: 1 of "small" needed, 0 free after requests ahead` +
        ': host1 port 22: the name has no address',
      '',
      '  labels     small',
      '  age        00:00:01:05',
      '  requestor  zuul\\x1b[2J',
      '',
      'pool "rack/main" keeps it waiting (label-quota)',
      '  why        1 of "small" needed, 0 free after requests ahead',
      '  numbers    label=small needed=1 available=0',
      '  blocked    host1 port 22: the name has no address',
      '  position   3 requests ahead',
      '  to change  nodes of the label are returned or added',
      '',
    ]);
  });

  it('explains the same as JSON', async () => {
    const { headers, text } = await get('?label=small&label=big&label=big', 'application/json');

    expect(headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(text)).toMatchObject({
      request: null,
      state: 'not submitted',
      labels: ['small', 'big', 'big'],
      pools: [{ action: 'wait', rule: 'label-quota', position: 3, details: { needed: 1 } }],
    });
  });

  it('agrees with the conditions, and shows those that concern it', async () => {
    conditions.merged = [notServed, { ...notServed, name: 'huge' }];
    const { text } = await get(`?request=${KNOWN}`);
    const json = JSON.parse((await get(`?request=${KNOWN}`, 'application/json')).text) as object;

    expect(text.split('\n')[0]).toBe(`Request ${KNOWN} waits: ${notServed.message}`);
    expect(text).toContain(`What is wrong\n  error: label "small": ${notServed.message}\n    repair the hosts\n`);
    expect(json).toMatchObject({
      summary: `Request ${KNOWN} waits: ${notServed.message}`,
      conditions: [{ name: 'small', type: 'NotServed' }],
    });
  });

  it('does not know a request that is not there', async () => {
    const text = await get('?request=200-0000000009');
    const json = await get('?request=200-0000000009', 'application/json');

    expect(text).toMatchObject({
      status: 404,
      text: 'There is no request "200-0000000009": it has been deleted, or the id is wrong\n',
    });
    expect(json.status).toBe(404);
    expect(JSON.parse(json.text)).toMatchObject({ error: 'unknown-request' });
  });

  it.each(['', '?', '?request=', `?request=${KNOWN}&label=a`, `?request=${KNOWN}&request=b`, '?labels=a'])(
    'says how to ask when asked %j',
    async (query) => {
      const { status, text } = await get(query);

      expect(status).toBe(400);
      expect(text).toContain('/explain?request=');
    },
  );

  it('does not answer from records it is still reading', async () => {
    ready = false;

    expect((await get(`?request=${KNOWN}`)).status).toBe(503);
  });

  it('refuses for a while when explanations took too much time', async () => {
    const dear = await get(`?label=${DEAR}`);
    const refused = await fetch(`http://127.0.0.1:${server.port}/explain?label=small`);
    nowMs += 3_000;
    const later = await get('?label=small');

    expect(dear.status).toBe(200);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(later.status).toBe(200);
  });

  it('refuses more labels than any request has', async () => {
    expect((await get(`?${'label=small&'.repeat(201)}`)).status).toBe(400);
  });
});
