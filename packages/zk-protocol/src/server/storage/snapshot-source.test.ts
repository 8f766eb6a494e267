import { expect, it } from 'vitest';
import { contentOf, createRequest, ModelDriver } from '../../../test/server/model-driver.js';
import { SnapshotSource } from './snapshot-source.js';

it('has no part beyond the record limit, even if all znodes change while it is written', () => {
  const driver = new ModelDriver();
  const client = driver.connect(60_000);
  const paths = Array.from({ length: 40 }, (_, index) => `/${index}`);
  for (const path of paths) driver.apply(client, createRequest(path, 0, 'x'.repeat(1_000_000)));
  const source = new SnapshotSource(driver.model);
  const parts = [source.next(1000), source.next(1000), source.next(1000)];

  driver.apply(client, { op: 'multi', parts: paths.map((path) => ({ op: 'delete', path, version: -1 })) });
  for (let part = source.next(1000); part !== undefined; part = source.next(1000)) parts.push(part);

  const sizes = parts.map((part) => part?.length ?? 0);
  expect(Math.max(...sizes)).toBeLessThan(10 * 1024 * 1024);
  expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(40_000_000);
});

it('holds the state at its creation, although the model changes', () => {
  const driver = new ModelDriver();
  const client = driver.connect();
  driver.apply(client, createRequest('/a', 0, 'old'), createRequest('/b', 0, 'old'));
  const partsOf = (source: SnapshotSource, change = () => {}) => {
    const parts = [source.next(1), source.next(1), source.next(1)];
    change();
    for (let part = source.next(1); part !== undefined; part = source.next(1)) parts.push(part);
    return Buffer.concat(parts.filter((part) => part !== undefined)).toString('latin1');
  };
  const before = contentOf(driver.model);

  const text = partsOf(new SnapshotSource(driver.model), () => {
    driver.apply(client, { op: 'setData', path: '/b', data: Buffer.from('new'), version: -1 }, createRequest('/c'));
  });

  expect(text).not.toContain('new');
  expect(text.match(/old/g)).toHaveLength(2);
  expect(text).not.toContain('/c\0');
  expect(contentOf(driver.model)).not.toEqual(before);
});
