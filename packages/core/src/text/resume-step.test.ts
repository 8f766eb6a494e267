import { expect, it } from 'vitest';
import { resumeStep } from './resume-step.js';

it.each([
  ['alice@desk', 'nodepool provider resume rack'],
  [
    'nodepool rollback (alice@desk)',
    'let the running nodepool rollback (alice@desk) end, or interrupt it: this order ends with it',
  ],
])('an order of %s is ended so: %s', (owner, step) => {
  expect(resumeStep({ kind: 'provider', name: 'rack', owner })).toBe(step);
});
