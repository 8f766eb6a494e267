import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nodeEnvironment } from './environment.js';

const FILES = { inventoryFile: '/i', knownHostsFile: '/k', nodesFile: '/n' };
const nodes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: String(i),
    name: `small-${i}`,
    port: 22,
    az: null,
    note: 'x'.repeat(500),
  }));

describe('nodeEnvironment', () => {
  it('has all nodes at once, and the facts of each', () => {
    const env = nodeEnvironment('200-1', nodes(2), FILES);

    expect(JSON.parse(env['NODEPOOL_NODES'] ?? '')).toHaveLength(2);
    expect(env).toMatchObject({ NODEPOOL_NODE_1_NAME: 'small-1', NODEPOOL_NODE_1_PORT: '22', ANSIBLE_INVENTORY: '/i' });
    expect(env).not.toHaveProperty('NODEPOOL_NODE_1_AZ');
  });

  it.each([200, 20_000])('is small enough for the system with %i nodes', (count) => {
    const env = nodeEnvironment('200-1', nodes(count), FILES);

    const { status, error } = spawnSync('/bin/true', { env });

    expect(error).toBeUndefined();
    expect(status).toBe(0);
    expect(env).toMatchObject({ NODEPOOL_NODE_COUNT: String(count), NODEPOOL_NODES_FILE: '/n' });
    expect(env).not.toHaveProperty('NODEPOOL_NODES');
  });
});
