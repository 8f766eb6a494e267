import { expect, it } from 'vitest';
import { NodeLife, type NodeEvent, type TenantOf } from './node-life.js';

const ofUser: TenantOf = () => ({ tenant: 'acme' });
const ofLauncher: TenantOf = () => undefined;

function event(timeMs: number, what: NodeEvent['what'], rule = '', text = ''): NodeEvent {
  return { timeMs, what, rule, text, request: what === 'state' ? '200-1' : undefined, tenant: undefined };
}

function phasesOf(tenantOf: TenantOf, ...events: NodeEvent[]): string[] {
  return new NodeLife(events, tenantOf).spans.map(
    ({ phase, beginMs, endMs, owner }) => `${phase} ${beginMs}..${endMs} ${owner.tenant} ${owner.project}`,
  );
}

it('knows the project from the moment of the launch on, once the job has begun', () => {
  const events = [event(1, 'state', 'building'), event(5, 'state', 'ready'), event(6, 'state', 'in-use', 'p')];

  expect(phasesOf(ofUser, ...events, event(9, 'gone'))).toEqual(['boot 1..5 acme p', 'use 5..9 acme p']);
});

it('counts from the creation of the first instance, not from the turn that a launch waits for', () => {
  const events = [event(1, 'state', 'building'), event(3, 'stage', 'delete-leftovers'), event(4, 'stage', 'creating')];

  expect(phasesOf(ofUser, ...events, event(7, 'stage', 'creating'))).toEqual(['boot 4..undefined acme undefined']);
});

it('counts from the answer to the first order that was answered', () => {
  const events = [event(1, 'state', 'building'), event(2, 'stage', 'creating'), event(4, 'stage', 'creating')];
  const answered = [event(7, 'stage', 'booting'), event(8, 'stage', 'creating'), event(9, 'stage', 'booting')];

  expect(phasesOf(ofUser, ...events, ...answered)).toEqual(['boot 7..undefined acme undefined']);
});

it('stands by until a user gets it', () => {
  const events = [event(1, 'state', 'building'), event(5, 'state', 'ready'), event(8, 'state', 'deleting')];

  expect(phasesOf(ofLauncher, ...events, event(9, 'gone'))).toEqual([
    'boot 1..5 undefined undefined',
    'standby 5..9 undefined undefined',
  ]);
  expect(phasesOf(ofUser, event(2, 'gone'))).toEqual([]);
});
