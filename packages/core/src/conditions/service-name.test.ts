import { expect, it } from 'vitest';
import { serviceName } from './service-name.js';

it.each([
  ['http://10.0.0.1:8006', 'nl01:8006'],
  ['https://nodepool.example.org/api', 'nl01:443'],
  ['http://nl01', 'nl01:80'],
  [undefined, 'nl01'],
  [null, 'nl01'],
  ['not an address', 'nl01'],
])('names a service at %s as %s', (webUrl, name) => {
  expect(serviceName({ hostname: 'nl01', webUrl })).toBe(name);
});
