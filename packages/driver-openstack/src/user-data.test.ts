import { expect, it } from 'vitest';
import { problemOfUserData } from './user-data.js';

it.each([
  [undefined, undefined],
  ['x'.repeat(49_149), undefined],
  ['x'.repeat(49_150), /^userdata has 49150 bytes, 65536 in base64, and Nova takes 65535/],
  ['ä'.repeat(24_575), /^userdata has 49150 bytes/],
])('is measured as Nova does', (userData, problem) => {
  if (problem === undefined) expect(problemOfUserData(userData)).toBeUndefined();
  else expect(problemOfUserData(userData)).toMatch(problem);
});
