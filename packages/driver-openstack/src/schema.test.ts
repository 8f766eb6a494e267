import { expect, it } from 'vitest';
import { schema } from './schema.js';

it('marks the user data of labels as secret, so that no listing or log shows it', () => {
  const label = { properties: { userdata: { 'x-secret': true } } };
  const pool = { properties: { labels: { items: label } } };

  expect(schema).toMatchObject({ properties: { pools: { items: pool } } });
});
