import { ConfigError } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { describe, expect, it } from 'vitest';
import { Cached } from './cached.js';
import { lookUp, MISSING_LIFE_MS, theOne } from './named-things.js';

const ALL = [
  { id: 'n-1', name: 'private' },
  { id: 'n-2', name: 'twice' },
  { id: 'n-3', name: 'twice' },
  { id: 'n-4', name: 'n-1' },
];
const find = (idOrName: string, all = ALL) => theOne(all, idOrName, 'Network', 'small');

describe('a thing of the cloud that a label names', () => {
  it('is found by its id first, then by its name', () => {
    expect(find('private').id).toBe('n-1');
    expect(find('n-1').id).toBe('n-1');
    expect(find('n-3').name).toBe('twice');
  });

  it.each([
    ['lost', ALL, 'NetworkMissing', 'network "lost" does not exist in the cloud; it has private, twice, n-1'],
    ['lost', [], 'NetworkMissing', 'network "lost" does not exist in the cloud; it has none'],
    ['twice', ALL, 'NetworkAmbiguous', 'network "twice" is ambiguous (n-2, n-3): use the id'],
  ])('is named where there is not exactly one: %s', (name, all, reason, message) => {
    const act = () => find(name, all);

    expect(act).toThrow(ConfigError);
    expect(act).toThrow(expect.objectContaining({ reason, message: `label "small": ${message}` }) as Error);
  });
});

describe('a look in the list that is kept', () => {
  const listOf = (answers: readonly string[][]) => {
    const clock = new VirtualClock(0);
    let reads = 0;
    const known = new Cached(clock, 3_600_000, () => Promise.resolve(answers[reads++] ?? []));
    const take = (names: readonly string[]) => {
      if (!names.includes('new')) throw new ConfigError('there is none');
      return 'found';
    };
    return { clock, look: () => clock.run(lookUp(known, take)), reads: () => reads };
  };

  it('reads it again if it lacks the thing, at most once in a while', async () => {
    const { clock, look, reads } = listOf([['old'], ['new']]);

    await expect(look()).rejects.toThrow('there is none');
    await expect(look()).rejects.toThrow('there is none');
    const early = reads();
    await clock.advance(MISSING_LIFE_MS + 1);

    expect(await look()).toBe('found');
    expect([early, reads()]).toEqual([1, 2]);
  });
});
