import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { reason } from '../plan/candidates.js';
import { declinedRequest } from './writes.js';

const request = { ...newRequest({ labels: ['small'] }, 0), id: '200-0000000001' as RequestId };
const handedOver = reason('failed-over', 'launch failed', 'nothing');
const never = reason('exceeds-quota', 'too much', 'less');

describe('a declined request', () => {
  it('is there for others, or failed when there are none', () => {
    const open = declinedRequest(request, 'a', never, false, 1);
    const failed = declinedRequest(open, 'b', never, true, 2);

    expect([open.state, open.declinedBy]).toEqual(['requested', ['a']]);
    expect([failed.state, failed.declinedBy]).toEqual(['failed', ['a', 'b']]);
  });

  it('comes back to a pool that only left it to others, when these decline as well', () => {
    const left = declinedRequest(request, 'a', handedOver, false, 1);

    const back = declinedRequest(left, 'b', never, true, 2);
    const failed = declinedRequest(back, 'a', reason('label-unavailable', 'failed thrice', 'see the log'), true, 3);

    expect([back.state, back.declinedBy]).toEqual(['requested', ['b']]);
    expect([failed.state, failed.declinedBy]).toEqual(['failed', ['b', 'a']]);
  });

  it('stays with a pool that would leave it to others when they have gone meanwhile', () => {
    const kept = declinedRequest(request, 'a', handedOver, true, 1);

    expect([kept.state, kept.declinedBy]).toEqual(['requested', []]);
  });
});
