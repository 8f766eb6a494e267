import { expect, it } from 'vitest';
import { escapeLevel, NameTemplate, protectLine } from './names.js';

it.each([
  ['NodePool:min-ready', 'NodePool_min-ready'],
  ['zuul.example.com', 'zuul_example_com'],
  ['a-b_c', 'a-b_c'],
  ['a|b\nc d', 'a_b_c_d'],
])('makes one level of %j', (text, level) => {
  expect(escapeLevel(text)).toBe(level);
});

it('keeps dots elsewhere, but replaces characters that would end a name', () => {
  expect(protectLine('rack.one:1|c\n')).toBe('rack.one_1_c_');
});

it('escapes what users choose freely and sends other names as they are', () => {
  const requestor = new NameTemplate('nodepool.launch.requestor.<requestor>.<result>');
  const provider = new NameTemplate('nodepool.launch.provider.<provider>.<az>.<result>');

  expect(requestor.fill({ requestor: 'NodePool:min-ready', result: 'error.quota' })).toBe(
    'nodepool.launch.requestor.NodePool_min-ready.error.quota',
  );
  expect(provider.fill({ provider: 'cloud.a', az: 'az1', result: 'ready' })).toBe(
    'nodepool.launch.provider.cloud.a.az1.ready',
  );
});

it('makes each name one level with `normalize`, except results and calls', () => {
  const name = new NameTemplate('nodepool.task.<provider>.<call>.<status>', true);

  expect(name.fill({ provider: 'cloud.a', call: 'compute.GET.servers', status: '200' })).toBe(
    'nodepool.task.cloud_a.compute.GET.servers.200',
  );
});

it('produces no name while a value is unknown', () => {
  const name = new NameTemplate('nodepool.launch.provider.<provider>.<az>.<result>');

  expect(name.fill({ provider: 'a', az: null, result: 'ready' })).toBeUndefined();
  expect(name.fill({ provider: 'a', result: 'ready' })).toBeUndefined();
});
