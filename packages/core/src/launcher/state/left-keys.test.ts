import { newNode, type LeaseKeyHost, type NodeId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { isKeyLeft, loginId } from './left-keys.js';

const id = '0000000001' as NodeId;
const keyHost: LeaseKeyHost = {
  ...{ nodeId: id, provider: 'p', host: 'h', port: 22, username: 'ci', hostKeys: [], error: null },
};

const mirrorOf = (...fields: Parameters<typeof newNode>[0][]) =>
  ({ nodes: new Map(fields.map((each) => [id, { ...newNode(each, 0), id }])) }) as unknown as Parameters<
    typeof isKeyLeft
  >[1];

it.each([
  ['is on hold', { state: 'hold' }, false],
  ['is not shown on hold yet', { state: 'ready', allocatedTo: '200-1' }, false],
  ['is free', { state: 'ready' }, true],
  ['is being deleted', { state: 'deleting' }, true],
  ['is gone', undefined, true],
] as const)('a key is left or not on the host of a node that %s', (_what, fields, isLeft) => {
  const mirror = fields === undefined ? mirrorOf() : mirrorOf(fields as Parameters<typeof newNode>[0]);
  expect(isKeyLeft(keyHost, mirror)).toBe(isLeft);
  expect(isKeyLeft({ ...keyHost, error: 'no answer' }, mirror)).toBe(true);
});

it('belongs to a login: host, port and user', () => {
  expect(loginId(keyHost)).toBe(loginId({ host: 'h', port: 22, username: 'ci' }));
  expect(
    new Set([{}, { host: 'g' }, { port: 23 }, { username: 'x' }].map((c) => loginId({ ...keyHost, ...c }))).size,
  ).toBe(4);
});
