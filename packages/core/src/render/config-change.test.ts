import { expect, it } from 'vitest';
import type { ConfigChange } from '../launcher/preview/types.js';
import { configChangeToJson, configChangeToText } from './config-change.js';

const NOTHING: ConfigChange = {
  ...{ labels: { gained: [], lost: [] }, providers: [], pools: [], limits: [], register: [], delete: [] },
  ...{ freeNodes: [], kept: [], waiting: 1, servable: [], hopeless: [] },
};

it('reports that nothing would change, and mentions requests only if they are known', () => {
  expect(configChangeToText(NOTHING)).toBe('Nothing would change (1 request waits).');
  expect(configChangeToText(NOTHING, { isOffline: true })).toBe('Nothing would change.');
});

it('lists what would change by kind, and counts requests at the end', () => {
  const text = configChangeToText({
    ...NOTHING,
    labels: { gained: ['big'], lost: ['old'] },
    providers: [{ name: 'sky', change: 'changed' }],
    pools: [{ name: 'sky/main', change: 'removed' }],
    waiting: 2,
    hopeless: [{ request: '200-0000000001', labels: ['old'], why: ['no pool offers label "old"'] }],
  });

  expect(text).toBe(`Labels:
  + big
  - old

Providers:
  ~ sky: set up again without an interruption of requests

Pools:
  - sky/main

Waiting requests that become hopeless:
  - 200-0000000001 (old): no pool offers label "old"

2 requests wait; 0 would become servable, 1 hopeless.`);
});

it('shortens long lists, and shows control characters as text', () => {
  const gained = Array.from({ length: 60 }, (_, i) => `label-${i}\u001b[2J`);

  const lines = configChangeToText({ ...NOTHING, labels: { gained, lost: [] } }).split('\n');

  expect(lines).toContain('  ... and 10 more');
  expect(lines[1]).toBe('  + label-0\\x1b[2J');
});

it('includes everything in JSON, with requests in one member', () => {
  const servable = [{ request: '200-0000000001', labels: ['big'], why: ['sky/main'] }];

  expect(configChangeToJson({ ...NOTHING, servable })).toMatchObject({
    labels: { gained: [], lost: [] },
    requests: { waiting: 1, servable, hopeless: [] },
  });
});
