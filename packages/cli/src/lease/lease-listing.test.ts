import type { LeaseInfo } from '@nodepool/client';
import { listingToTable } from '@nodepool/core/service';
import { expect, it } from 'vitest';
import { leaseListing } from './lease-listing.js';

const NOW_MS = Date.UTC(2026, 0, 2);
const lease: LeaseInfo = {
  ...{ id: '0123456789abcdef0123456789abcdef', state: 'waiting', labels: ['ubuntu-noble-large'] },
  ...({ owner: 'alice', reason: '', createdTime: new Date(NOW_MS - 1000), expires: new Date(NOW_MS) } as LeaseInfo),
  nodes: [{ id: '0000000007', host: '203.113.115.117' } as LeaseInfo['nodes'][number]],
};

it('shows ids whole in a terminal of 80 columns, as nodepool release takes them', () => {
  const leftOut: string[] = [];

  const table = listingToTable(leaseListing, [lease], NOW_MS, {
    width: 80,
    onLeftOut: (keys) => leftOut.push(...keys),
  });

  expect(table).toContain(`| ${lease.id} | waiting |`);
  expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(leftOut).toEqual(['age', 'expires']);
  expect(listingToTable(leaseListing, [lease], NOW_MS)).toContain('| Expires ');
});
