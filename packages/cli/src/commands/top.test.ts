import { expect, it } from 'vitest';
import { nodepool, listenFor } from '../../test/program.js';

it('prints one picture where there is no terminal, and ends with 1 when no launcher answers', async () => {
  const overview = { nodes: { ready: 3 }, providers: [], pools: [], errors: [], not_ready: [] };
  const requests = { waiting: 2, pending: 0, shown: [] };
  const url = await listenFor({ '/api/v1/overview': { ...overview, requests }, '/api/v1/nodes?state=building': [] });

  const well = await nodepool('top', '--url', url);
  const lost = await nodepool('top', '--url', 'http://127.0.0.1:1');

  expect(well.status).toBe(0);
  expect(well.stdout).toContain('requests: 2 waiting, 0 accepted  nodes: 3 ready');
  expect(lost.status).toBe(1);
  expect(lost.stdout).toContain('! http://127.0.0.1:1 has not answered for');
});
