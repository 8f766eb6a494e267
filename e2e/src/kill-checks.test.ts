import { describe, expect, it } from 'vitest';
import { type Fact, findViolations, storyOf } from './kill-checks.js';

const cloud = (ms: number, status: string, machine = 'm1'): Fact => ({ kind: 'cloud', ms, machine, status });
const promise = (ms: number, untilMs: number, more: object = {}): Fact => ({
  ...{ kind: 'promise', ms, user: 'lease a', machines: ['m1'], fromMs: 10_000, untilMs },
  ...more,
});
const release = (ms: number, heldUntilMs?: number): Fact => ({
  ...{ kind: 'release', ms, user: 'lease a' },
  ...(heldUntilMs !== undefined && { heldUntilMs }),
});
const over = (ms: number, endMs: number): Fact => ({ kind: 'over', ms, user: 'lease a', endMs, why: 'it expired' });

const started = [cloud(1_000, 'building'), cloud(2_000, 'active')];
const textsOf = (...facts: Fact[]) => findViolations([...started, ...facts]).map(({ text }) => text);

describe('what users were promised', () => {
  it.each<[string, Fact[]]>([
    ['it is deleted when it has expired', [promise(10_100, 20_000), cloud(20_100, 'deleting'), over(21_000, 20_000)]],
    ['it ends at most 2.5 s early', [promise(10_100, 20_000), cloud(17_600, 'gone'), over(21_000, 17_600)]],
    ['its owner returns it', [promise(10_100, 20_000), release(12_000), cloud(12_001, 'gone'), over(13_000, 11_990)]],
    ['a renewal is answered after its end', [promise(10_100, 20_000), cloud(25_001, 'gone'), promise(30_000, 25_000)]],
    ['a late answer tells an earlier end', [promise(10_100, 20_000), promise(10_200, 15_000), cloud(20_000, 'gone')]],
    ['a job uses it as long as it likes', [promise(10_100, Infinity), release(90_000), cloud(90_001, 'deleting')]],
    [
      'it is held until the end of an order',
      [promise(10_100, Infinity), release(20_000, 30_000), cloud(28_000, 'gone')],
    ],
    ['its nodes went before it did', [promise(10_100, 20_000), promise(20_100, 20_000, { machines: [] })]],
    [
      'it ran before the answer, by a clock that is ahead of the time that launchers agree on',
      [cloud(9_000, 'starting'), cloud(10_010, 'active'), promise(10_100, 20_000)],
    ],
    ['it was a stopped spare', [cloud(3_000, 'stopped'), cloud(4_000, 'active'), promise(10_100, 20_000)]],
  ])('hold when %s', (_, facts) => {
    expect(textsOf(...facts)).toEqual([]);
  });

  it.each<[string, string | RegExp, Fact[]]>([
    [
      'deletes it',
      /^m1 of lease a was deleting 5.0 s before the end/,
      [promise(10_100, 20_000), cloud(15_000, 'deleting')],
    ],
    ['stops it', /^m1 of lease a was stopping 2.6 s/, [promise(10_100, 20_000), cloud(17_400, 'stopping')]],
    ['loses it before the answer', /^m1 of lease a was gone/, [cloud(10_050, 'gone'), promise(10_100, 20_000)]],
    ['lends a stopped one', 'm1 was stopped when lease a got it', [cloud(9_000, 'stopped'), promise(10_100, 20_000)]],
    [
      'lends one that still starts',
      'm1 was starting when lease a got it',
      [cloud(9_000, 'starting'), cloud(10_300, 'active'), promise(10_900, 20_000)],
    ],
    [
      'tells a job too early',
      'm1 was starting when lease a got it',
      [cloud(9_000, 'starting'), cloud(10_110, 'active'), promise(10_100, Infinity, { fromMs: 10_100 })],
    ],
    ['lends what is not there', 'm2 was unknown when lease a got it', [promise(10_100, 20_000, { machines: ['m2'] })]],
    [
      'breaks a renewal',
      /^m1 of lease a was gone 9.0 s/,
      [promise(10_100, 20_000), promise(12_000, 30_000), cloud(21_000, 'gone')],
    ],
    [
      'deletes it under a job',
      /^m1 of lease a was gone Infinity s/,
      [promise(10_100, Infinity), cloud(90_000, 'gone')],
    ],
    [
      'ends a hold',
      /^m1 of lease a was gone 5.0 s/,
      [promise(10_100, Infinity), release(20_000, 30_000), cloud(25_000, 'gone')],
    ],
    ['ends a lease', /^lease a was over 6.0 s .*: it expired/, [promise(10_100, 20_000), over(30_000, 14_000)]],
    [
      'ends one before its return',
      /^lease a was over/,
      [promise(10_100, 20_000), release(16_000), over(17_000, 13_000)],
    ],
    [
      'lends it twice',
      'm1 was given to lease a and to b',
      [promise(10_100, 20_000), promise(40_000, 50_000, { user: 'b' })],
    ],
    ['gives others', /had m1 and then none/, [promise(10_100, 20_000), promise(10_200, 20_000, { machines: [] })]],
    ['renews nothing', 'the renewal of lease a lacks 8 s', [promise(10_100, 20_000, { leastMs: 28_000 })]],
  ])('are broken by one who %s', (_, text, facts) => {
    expect(textsOf(...facts)).toEqual([typeof text === 'string' ? text : (expect.stringMatching(text) as string)]);
  });

  it('are told with what happened to their user and machine, in order', () => {
    const facts: Fact[] = [
      ...[...started, cloud(2_000, 'active', 'm2'), promise(10_100, 20_000), cloud(15_000, 'gone')],
      { kind: 'strike', ms: 12_000, launcher: 'one', what: 'SIGKILL' },
    ];
    const [violation] = findViolations(facts);
    const told = storyOf(violation ?? { user: '', machine: '', text: '' }, facts).split('\n');
    expect(told[0]).toMatch(/^m1 of lease a was gone/);
    expect(told.slice(1).map((line) => /"(kind)":"(\w+)"/.exec(line)?.[2])).toEqual([
      'cloud',
      'cloud',
      'promise',
      'strike',
      'cloud',
    ]);
    expect(told.join()).not.toContain('m2');
  });
});
