import { expect, it } from 'vitest';
import type { Instance } from '../../contract/instance.js';
import { InstanceKnowledge } from './instance-knowledge.js';

const instance = (externalId: string, ready = true): Instance => ({
  ...{ externalId, ready, deleted: false, interfaceIp: null, metadata: {} },
});

it('keeps pushed data when an older list arrives', () => {
  const knowledge = new InstanceKnowledge();
  const began = knowledge.tick();
  knowledge.report('a', instance('a', true));
  knowledge.report('b', undefined);
  knowledge.listed(began, [instance('a', false), instance('b')]);

  expect(knowledge.get('a')?.ready).toBe(true);
  expect(knowledge.all().map(({ externalId }) => externalId)).toEqual(['a']);
});

it('forgets facts that are older than a list', () => {
  const knowledge = new InstanceKnowledge();
  knowledge.read('a', knowledge.tick(), instance('a'));
  const began = knowledge.tick();
  knowledge.listed(began, []);

  expect(knowledge.get('a')).toBeUndefined();
  expect(knowledge.knownAt('a')).toBe(began);
});

it('does not let a slow read undo a push', () => {
  const knowledge = new InstanceKnowledge();
  const began = knowledge.tick();
  knowledge.report('a', undefined);
  knowledge.read('a', began, instance('a'));

  expect(knowledge.get('a')).toBeUndefined();
});

it('knows that an instance has changed in an unknown way until it is read', () => {
  const knowledge = new InstanceKnowledge();
  knowledge.listed(knowledge.tick(), [instance('a')]);
  knowledge.outdate('a');
  const outdated = [knowledge.hasFact('a'), knowledge.knownAt('a')];
  knowledge.read('a', knowledge.tick(), instance('a', false));

  expect(outdated).toEqual([false, 0]);
  expect([knowledge.hasFact('a'), knowledge.get('a')?.ready]).toEqual([true, false]);
});

it('drops the oldest of many facts, and shows no older state for it', () => {
  const knowledge = new InstanceKnowledge();
  knowledge.listed(knowledge.tick(), [instance('old', false)]);
  knowledge.report('old', instance('old', true));
  for (let i = 0; i < 2_000; i++) knowledge.report(`i${i}`, undefined);

  expect(knowledge.hasFact('old')).toBe(false);
  expect(knowledge.get('old')?.ready).toBe(true);
});
