import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { listingToJson, listingToTable } from './listing.js';
import { requestListing } from './requests.js';

const NOW_MS = 1_700_000_000_000;

describe('request listing', () => {
  it('prints each label as often as it was requested, as Nodepool does', () => {
    const labels = Array.from({ length: 12 }, (_, i) => (i % 4 === 0 ? 'big' : 'small'));
    const request = { ...newRequest({ labels, requestor: 'zuul' }, 0), id: '200-0000000001' as RequestId };

    const [row] = listingToTable(requestListing, [request], NOW_MS, { fields: new Set(['node_types']) })
      .split('\n')
      .slice(3);

    expect(row).toBe(`| ${labels.join(',')} |`);
  });

  it('takes pool names from launcher ids, and groups pools with the same reason', () => {
    const reason = (text: string) => ({ rule: 'label' as const, text, timeMs: NOW_MS });
    const declineReasons = {
      [`nl01-PoolWorker.rack-main-${'0'.repeat(32)}`]: reason('no label big'),
      [`nl02-PoolWorker.cloud-a-main-${'0'.repeat(32)}`]: reason('no label big'),
      'an older launcher': reason('at quota'),
    };
    const request = { ...newRequest({ labels: ['big'] }, NOW_MS), declineReasons };

    const table = listingToTable(requestListing, [request], NOW_MS, { fields: new Set(['decline_reasons']) });
    const json = listingToJson(requestListing, [request], NOW_MS, new Set(['decline_reasons']));

    expect(table).toContain('| rack-main, cloud-a-main: no label big; an older launcher: at quota |');
    expect(JSON.parse(json)).toMatchObject([
      { decline_reasons: { 'an older launcher': { rule: 'label', text: 'at quota', time: 1_700_000_000 } } },
    ]);
  });
});
