import { expect, it } from 'vitest';
import { problemsOf } from './commits.mjs';

it('accepts a conventional subject with a body', () => {
  expect(problemsOf('fix(core): keep a node whose lock is held', 'Its owner is alive.')).toEqual([]);
  expect(problemsOf('feat!: drop Node 18', 'It is no longer maintained.')).toEqual([]);
});

it('names each thing that is missing', () => {
  expect(problemsOf('Fixed things', '')).toEqual([
    'the subject has no conventional type, e.g. "fix(core): "',
    'it has no body that says why',
  ]);
});

it('counts the characters of the subject', () => {
  expect(problemsOf(`docs: ${'a'.repeat(66)}`, 'Why.')).toEqual([]);
  expect(problemsOf(`docs: ${'a'.repeat(67)}`, 'Why.')).toEqual(['the subject has 73 characters, 72 at most']);
});
