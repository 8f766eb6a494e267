import { expect, it } from 'vitest';
import { schema } from './schema.js';

it('marks user data and trust tokens as secret, so that no listing or log shows them', () => {
  const label = { properties: { 'user-data': { 'x-secret': true } } };
  const pool = { properties: { labels: { items: label } } };

  expect(schema).toMatchObject({ properties: { pools: { items: pool }, 'trust-token': { 'x-secret': true } } });
});
