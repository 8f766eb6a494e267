import { expect, it } from 'vitest';
import { timelineToText } from './timeline-text.js';
import type { Timeline } from './timeline.js';

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

it('shows the waits of a request and its stages', () => {
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
