import { expect, it } from 'vitest';
import type { PoolExplanation, RequestExplanation } from '../launcher/plan/explanation.js';
import { explanationToText } from './explanation-text.js';

const pool = (host: string, name = 'main'): PoolExplanation => ({
  ...{ provider: 'rack', pool: name, launcherId: `${host}-PoolWorker.rack-${name}-5f0c`, own: true },
  ...{ action: 'wait', rule: 'label-quota', text: 'none is free', remedy: 'wait', details: {} },
  ...{ position: 0, hindrances: [] },
});

function headings(...pools: PoolExplanation[]): string[] {
  const explanation: RequestExplanation = {
    ...{ requestId: '200-0000000001', state: 'requested', labels: ['a'], requestor: null, tenant: null, nodes: [] },
    ...{ ageMs: 0, launchError: null, pools, launches: [] },
  };
  return explanationToText(explanation)
    .split('\n')
    .filter((line) => line.startsWith('pool '));
}

it('names the launcher of pools that several launchers have, and of no other', () => {
  expect(headings(pool('nl01.example.com'), pool('nl02.example.com'), pool('nl01.example.com', 'spare'))).toEqual([
    'pool "rack/main" of launcher nl01.example.com keeps it waiting (label-quota)',
    'pool "rack/main" of launcher nl02.example.com keeps it waiting (label-quota)',
    'pool "rack/spare" keeps it waiting (label-quota)',
  ]);
});
