import type { Timeline } from '../explain/timeline.js';
import { describe, expect, it } from 'vitest';
import { nodepool, listenFor } from '../../test/program.js';

const BEGIN = 1_600_000_000;
const TIMELINE: Timeline = {
  ...{ id: '200-0000000001', kind: 'request', labels: ['small'], nodes: ['0000000007'], request: null },
  ...{ requestor: 'zuul', tenant_name: 'tenant', created_time: BEGIN, state: 'fulfilled', ended_time: BEGIN + 100 },
  intervals: [{ begin_time: BEGIN, end_time: BEGIN + 100, cause: 'pool-full', text: 'cloud/main: it is full' }],
  events: [],
  silent: [],
};

describe('nodepool timeline', () => {
  it('asks the next launcher when one does not answer, and names the silent one', async () => {
    const silent = [{ url: 'http://nl09:8005', error: 'ECONNREFUSED' }];
    const url = await listenFor({ '/api/v1/requests/200-0000000001/timeline': { ...TIMELINE, silent } });

    const { status, stdout, stderr } = await nodepool(
      ...['timeline', '200-0000000001', '--url', 'http://127.0.0.1:1', '--url', url],
    );

    expect(status).toBe(0);
    expect(stdout).toContain('Request 200-0000000001: fulfilled after 1 min 40 s');
    expect(stderr).toContain('http://127.0.0.1:1: ');
    expect(stderr).toContain('http://nl09:8005: ECONNREFUSED; what it knows is missing');
  });

  it('gives programs everything', async () => {
    const url = await listenFor({ '/api/v1/requests/200-0000000001/timeline': TIMELINE });

    const { stdout } = await nodepool('timeline', '200-0000000001', '--url', url, '--json');

    expect(JSON.parse(stdout)).toEqual(TIMELINE);
  });

  it('knows what no launcher has on record, with status 1 when strict', async () => {
    const url = await listenFor({});

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
