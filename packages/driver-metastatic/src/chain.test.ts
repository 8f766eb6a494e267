import { expect, it } from 'vitest';
import type { RequestId } from '@nodepool/zk-protocol';
import { useWorld } from '../test/world.js';

const world = useWorld();

function slotsOn(provider: string, label: string, backing: string): string {
  return [
    `labels: [{name: ${label}}, {name: ${backing}}]`,
    'providers:',
    `- name: ${provider}`,
    '  driver: metastatic',
    '  launch-retries: 2',
    '  pools:',
    `  - {name: main, labels: [{name: ${label}, backing-label: ${backing}}]}`,
  ].join('\n');
}

it('fails a request if the configurations of two launchers form a cycle', async () => {
  await world.launcher(slotsOn('one', 'a', 'b'));
  await world.launcher(slotsOn('two', 'b', 'a'));
  const client = await world.client();
  const seen = new Set<RequestId>();
  client.requests.onChange(({ after }) => after && seen.add(after.id));

  const { state, launchError } = await client.ended(await client.ask(['a']));
  await client.until('all nodes are gone', () => client.all().length === 0);

  expect(state).toBe('failed');
  expect(launchError).toContain('backing label "b"');
  expect(launchError).toContain('label "a" would be its own backing node');
  expect(seen.size).toBeLessThanOrEqual(1 + 2 + 2 * 2);
});
