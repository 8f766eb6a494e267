import { expect, it } from 'vitest';
import { readAddress } from './server-address.js';

it.each(['https://nl01:8005', 'http://[::1]:8005/', 'https://proxy.example.org/nodepool/', 'unix:/run/x'])(
  'takes %s',
  (text) => {
    expect(readAddress(text).href).toContain(text);
  },
);

it.each([
  ['nl01:8005', 'The address "nl01:8005" needs a form like https://nl01:8005'],
  ['unix:run/x', 'The address "unix:run/x" needs a form like https://nl01:8005'],
  ['ftp://nl01', 'The address "ftp://nl01" needs a form like https://nl01:8005'],
  ['https://nl01/?tenant=x', 'The address "https://nl01/" has more than a path: leave out what begins with ? or #'],
  ['https://nl01/#top', 'The address "https://nl01/" has more than a path: leave out what begins with ? or #'],
  [
    'https://alice:hidden@nl01',
    'The address "https://nl01/" has a user or a password: leave them out, as only a token says who you are',
  ],
  ['https://alice:hidden@', 'The address "https://...@" needs a form like https://nl01:8005'],
])('refuses %s, and shows no password', (text, message) => {
  expect(() => readAddress(text)).toThrow(expect.objectContaining({ code: 'wrong-argument', message }));
});
