import { expect, it } from 'vitest';
import type { RequestExplanation } from '../launcher/plan/explanation.js';
import { mergeExplanations } from './explanation-merge.js';

it('shows the standby nodes of the launcher that keeps them', () => {
  const explanation = (nodes: number, decides: boolean): RequestExplanation => ({
    ...{ requestId: undefined, state: 'not submitted', labels: ['a'], requestor: null, tenant: null, nodes: [] },
    ...{ ageMs: undefined, launchError: null, pools: [], launches: [] },
    freeNodes: [{ label: 'a', nodes, ready: 0, reason: '', isFallback: false, decides }],
  });

  const merged = mergeExplanations([explanation(3, false), explanation(7, true), explanation(4, false)]);

  expect(merged?.freeNodes).toMatchObject([{ nodes: 7, decides: true }]);
  expect(mergeExplanations([explanation(3, false)])?.freeNodes).toMatchObject([{ nodes: 3 }]);
});
