import { expect, it } from 'vitest';
import { hoursOf, isOpenWay, timeLeft } from './text.js';

it('tells the time left in two units', () => {
  const times = [-5, 0, 59.4, 60, 61, 3_599, 3_600, 3_659, 7_140, 90_000, 86_400];

  expect(times.map(timeLeft)).toEqual([
    ...['0 s', '0 s', '59 s', '1 min', '1 min 1 s', '59 min 59 s', '1 h', '1 h', '1 h 59 min', '1 d 1 h', '1 d'],
  ]);
});

it('offers hours that are not longer than the time is', () => {
  expect([3_600, 600, 5, 14_400, 5_400].map(hoursOf)).toEqual(['1', '0.16', '0.01', '4', '1.5']);
});

it('knows where others may read a token on the way', () => {
  const open = (url: string) => isOpenWay(new URL(url));

  expect(['http://nl01:8005', 'http://127.0.0.1.example.org', 'http://[2001:db8::1]'].filter(open)).toHaveLength(3);
  expect(['https://nl01', 'http://localhost:8005', 'http://127.0.0.1', 'http://[::1]:80'].filter(open)).toEqual([]);
});
