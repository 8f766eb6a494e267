import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { JobTale, Usage } from './usage.js';

let printed = '';
beforeEach(() => {
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => void vi.restoreAllMocks());

const lines = () =>
  printed.split('\n').map((line) => line.replace(/^ *[\d.]+ s +job \d+: /, '').replace(/\d+ ms/, 'N ms'));

it('tells the progress of a job in words of its user', () => {
  const tale = new JobTale(new Usage(), ['small', 'large']);

  const started = [
    '[   0.00 s] request 200-0000000001 for small, large',
    '[   0.01 s] accepted by a launcher',
    '[   0.02 s] waits: no capacity',
    '[   0.03 s] fulfilled: 0000000001, 0000000002',
    '[   0.04 s] nodes locked and in use',
  ].map(tale.progress);
  tale.output('hello');

  expect(started).toEqual([false, false, false, false, true]);
  expect(lines()).toEqual(['asks for "small" and "large"', 'waits: no capacity', 'got them after N ms', 'hello', '']);
});
