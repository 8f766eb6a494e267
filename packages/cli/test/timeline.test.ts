import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { timelineToText } from '../src/explain/timeline-text.js';
import type { Timeline } from '../src/explain/timeline.js';
import { useInstallation } from './installation.js';
import { nodepool } from './program.js';

useInstallation();

const BEGIN = 1_600_000_000;
const TIMELINE: Timeline = {
  ...{ id: '200-0000000001', kind: 'request', labels: ['small'], nodes: ['0000000007'], request: null },
  ...{ requestor: 'zuul', tenant_name: 'tenant', created_time: BEGIN, state: 'fulfilled', ended_time: BEGIN + 100 },
  intervals: [
    { begin_time: BEGIN, end_time: BEGIN + 0.034, cause: 'unseen', text: 'no launcher has looked at it' },
    { begin_time: BEGIN + 0.034, end_time: BEGIN + 90, cause: 'pool-full', text: 'cloud/main: it is full' },
    { begin_time: BEGIN + 90, end_time: BEGIN + 99, cause: 'launching', text: 'cloud/main: node 0000000007 is made' },
    { begin_time: BEGIN + 99, end_time: BEGIN + 100, cause: 'pool-full', text: 'cloud/main: it is full' },
  ],
  events: [
    {
      ...{ time: BEGIN + 1, launcher: 'nl01', pool: 'cloud/main', node: null },
      ...{ what: 'taken', rule: null, text: '' },
    },
  ],
  silent: [],
};

/** A launcher's web server that answers some paths, until the test is over. @returns its URL */
async function listen(answers: Readonly<Record<string, unknown>>): Promise<string> {
  const web = createServer((request, response) => {
    const body = answers[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200).end(JSON.stringify(body ?? { error: 'unknown-request' }));
  });
  onTestFinished(() => void web.close());
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
}

describe('nodepool timeline', () => {
  it('says what a request waited for, and what it is made of', () => {
    expect(timelineToText(TIMELINE, 0, true)).toBe(`Request 200-0000000001: fulfilled after 1 min 40 s
  labels     small
  requestor  zuul
  tenant     tenant
  nodes      0000000007
  created    2020-09-13T12:26:40.000Z

At                   For  Cause
12:26:40.000       34 ms  unseen     no launcher has looked at it
12:26:40.034  1 min 30 s  pool-full  cloud/main: it is full
12:28:10.000       9.0 s  launching  cloud/main: node 0000000007 is made
12:28:19.000       1.0 s  pool-full  cloud/main: it is full

In all: pool-full 1 min 31 s (91 %), launching 9.0 s (9 %), unseen 34 ms (0 %)

Events
  12:26:41.000  nl01  cloud/main  taken`);
  });

  it('asks the next launcher when one does not answer, and tells who was silent', async () => {
    const silent = [{ url: 'http://nl09:8005', error: 'ECONNREFUSED' }];
    const url = await listen({ '/api/v1/requests/200-0000000001/timeline': { ...TIMELINE, silent } });

    const { status, stdout, stderr } = await nodepool(
      ...['timeline', '200-0000000001', '--url', 'http://127.0.0.1:1', '--url', url],
    );

    expect(status).toBe(0);
    expect(stdout).toContain('Request 200-0000000001: fulfilled after 1 min 40 s');
    expect(stderr).toContain('http://127.0.0.1:1: ');
    expect(stderr).toContain('http://nl09:8005: ECONNREFUSED; what it knows is missing');
  });

  it('gives programs everything', async () => {
    const url = await listen({ '/api/v1/requests/200-0000000001/timeline': TIMELINE });

    const { stdout } = await nodepool('timeline', '200-0000000001', '--url', url, '--json');

    expect(JSON.parse(stdout)).toEqual(TIMELINE);
  });

  it('knows what no launcher has on record, with status 1 when strict', async () => {
    const url = await listen({});

    const lenient = await nodepool('timeline', '200-9', '--url', url);
    const strict = await nodepool('timeline', '200-9', '--url', url, '--strict');

    expect(lenient).toMatchObject({ status: 0, stdout: 'Request id 200-9 not found: no launcher has it on record\n' });
    expect(strict.status).toBe(1);
  });

  it('needs a launcher', async () => {
    const { status, stderr } = await nodepool('timeline', '200-9', '--url', 'http://127.0.0.1:1');

    expect(status).toBe(1);
    expect(stderr).toContain('No launcher answered: the past is kept by launchers, start one or name its --url');
  });
});

describe('nodepool explain', () => {
  it('tells the past of a request that is gone', async () => {
    const url = await listen({ '/api/v1/requests/200-0000000001/timeline': TIMELINE });

    const { status, stdout } = await nodepool('explain', '200-0000000001', '--url', url);

    expect(status).toBe(0);
    expect(stdout).toContain('Request 200-0000000001: fulfilled after 1 min 40 s');
    expect(stdout).toContain('pool-full');
  });
});

describe('nodepool top', () => {
  it('prints one picture where there is no terminal, and ends with 1 when no launcher answers', async () => {
    const overview = { nodes: { ready: 3 }, providers: [], pools: [], errors: [], not_ready: [] };
    const requests = { waiting: 2, pending: 0, shown: [] };
    const url = await listen({ '/api/v1/overview': { ...overview, requests }, '/api/v1/nodes?state=building': [] });

    const well = await nodepool('top', '--url', url);
    const lost = await nodepool('top', '--url', 'http://127.0.0.1:1');

    expect(well.status).toBe(0);
    expect(well.stdout).toContain('requests: 2 waiting, 0 accepted  nodes: 3 ready');
    expect(lost.status).toBe(1);
    expect(lost.stdout).toContain('! http://127.0.0.1:1 does not answer');
  });
});
