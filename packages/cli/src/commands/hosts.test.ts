import { expect, it } from 'vitest';
import { listenFor, nodepool } from '../../test/program.js';

const NOW = Date.now() / 1000;
const UP = {
  ...{ provider: 'rack', pool: 'main', host: 'web1', port: 22, username: 'zuul', labels: ['big', 'small'], slots: 1 },
  ...{ health: 'up', reason: null, message: null, last_check: NOW - 60, down_since: null },
  nodes: [{ node: '0000000007', state: 'in-use', user: 'alice@desk' }],
};
const DOWN = {
  ...{ ...UP, host: 'web2', health: 'down', reason: 'NoAnswer', message: 'no answer', last_check: NOW - 5 },
  ...{ down_since: NOW - 3_600, nodes: [] },
};

/** A launcher's web server that lists these hosts. @returns its URL */
const listenWith = (hosts: readonly object[]) => listenFor({ '/api/v1/hosts': hosts });

it('nodepool hosts shows hosts that are down first, with reason, and the users of the others', async () => {
  const url = await listenWith([UP, DOWN]);

  const { status, stdout } = await nodepool('hosts', '--url', url);

  expect(status).toBe(0);
  const rows = stdout.split('\n').filter((line) => /web\d/.test(line));
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/rack +\| web2 .* down +\| 00:00:00:0\d .* 00:01:00:0\d \| NoAnswer/);
  expect(rows[1]).toMatch(/rack +\| web1 .* big,small \| up .* 0000000007 \| alice@desk/);
});

it('nodepool hosts takes the newest check where launchers share a provider', async () => {
  const stale = await listenWith([{ ...DOWN, host: 'web1' }]);
  const fresh = await listenWith([{ ...UP, last_check: NOW }]);

  const { stdout } = await nodepool('hosts', '--url', stale, '--url', fresh, '--json');

  expect(JSON.parse(stdout)).toMatchObject([{ host: 'web1', health: 'up' }]);
});

it('nodepool hosts fails when no launcher answers, and names each', async () => {
  const { status, stderr } = await nodepool('hosts', '--url', 'http://127.0.0.1:1');

  expect(status).toBe(1);
  expect(stderr).toMatch(/No launcher answered: http:\/\/127\.0\.0\.1:1: \S+/);
});
