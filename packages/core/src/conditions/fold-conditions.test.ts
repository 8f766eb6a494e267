import { expect, it } from 'vitest';
import type { Condition, ConditionKind } from '../contract/condition.js';
import { foldConditions } from './fold-conditions.js';

function wrong(kind: ConditionKind, name: string, type: string, reason: string, evidence = {}): Condition {
  const texts = { message: 'it is wrong', nextStep: 'correct it' };
  return { kind, name, type, reason, evidence, ...texts, status: 'true', severity: 'error', sinceMs: 0, lastSeenMs: 0 };
}

/** Types of the causes, each with the types of what follows. */
const folded = (...conditions: Condition[]) =>
  foldConditions(conditions).map(({ condition, follows }) => [condition.type, follows.map(({ type }) => type)]);

const silent = wrong('provider', 'sky', 'CallsUnanswered', 'NoAnswer');
const failing = wrong('provider', 'sky', 'LaunchesFail', 'Timeout');
const slow = wrong('provider', 'sky', 'SlowLaunches', 'Slow');
const unserved = wrong('label', 'a', 'NotServed', 'ProviderFails', { onlyProvider: 'sky' });
const dead = { ...unserved, reason: 'LabelFails' };
const standby = wrong('label', 'a', 'StandbyMissing', 'TooFew');
const deletion = wrong('node', '0000000007', 'DeletionFails', 'Unreachable', { provider: 'sky' });

it('puts all that one API causes under the plainest condition of its provider', () => {
  expect(folded(failing, unserved, silent, deletion, slow, standby)).toEqual([
    ['CallsUnanswered', ['LaunchesFail', 'NotServed', 'DeletionFails', 'SlowLaunches', 'StandbyMissing']],
  ]);
});

it('puts deletions that do not end and uploads that fail under the API that hangs, not under instances that fail', () => {
  const stuck = wrong('node', '0000000008', 'DeletionTakesLong', 'StillInCloud', { provider: 'sky' });
  const upload = wrong('image', 'debian/sky', 'UploadFails', 'Error', { provider: 'sky' });
  const left = { ...stuck, reason: 'NobodyDeletes' };
  const broken = { ...failing, reason: 'InstanceFailed' };

  expect(folded(stuck, upload, silent)).toEqual([['CallsUnanswered', ['DeletionTakesLong', 'UploadFails']]]);
  expect(folded(left, silent)).toHaveLength(2);
  expect(folded(stuck, upload, broken)).toHaveLength(3);
});

it('keeps what has another cause', () => {
  const elsewhere = { ...deletion, evidence: { provider: 'rain' } };
  const broken = { ...deletion, reason: 'Error' };
  const several = { ...unserved, reason: 'Several', evidence: {} };

  expect(folded(silent, elsewhere, broken, several)).toEqual([
    ['CallsUnanswered', []],
    ['DeletionFails', []],
    ['DeletionFails', []],
    ['NotServed', []],
  ]);
});

it('puts a label that is not served under what is wrong with the label in its only provider', () => {
  const alone = wrong('label', 'sky/a', 'LabelLaunchesFail', 'InstanceFailed', { provider: 'sky', label: 'a' });
  const image = wrong('label', 'sky/main/a', 'LabelUnusable', 'ImageMissing', { provider: 'sky', label: 'a' });
  const other = { ...alone, evidence: { provider: 'rain', label: 'a' } };

  expect(folded(dead, alone, standby)).toEqual([['LabelLaunchesFail', ['NotServed', 'StandbyMissing']]]);
  expect(folded({ ...unserved, reason: 'ImageMissing' }, image)).toEqual([['LabelUnusable', ['NotServed']]]);
  expect(folded(alone, image)).toEqual([['LabelUnusable', ['LabelLaunchesFail']]]);
  expect(folded(other, image)).toHaveLength(2);
  expect(folded(dead, other)).toEqual([
    ['NotServed', []],
    ['LabelLaunchesFail', []],
  ]);
});

it('puts a label without an image under the upload of this image that fails', () => {
  const missing = { ...unserved, reason: 'ImageMissing' };
  const upload = wrong('image', 'debian/sky', 'UploadFails', 'Test', { provider: 'sky', labels: 'b,a' });
  const other = { ...upload, evidence: { provider: 'sky', labels: 'b' } };

  expect(folded(missing, upload)).toEqual([['UploadFails', ['NotServed']]]);
  expect(folded(missing, other)).toHaveLength(2);
});

it('does not take what may be over for a cause', () => {
  expect(folded({ ...silent, status: 'unknown' }, unserved)).toEqual([
    ['CallsUnanswered', []],
    ['NotServed', []],
  ]);
});

it('puts images without a new build under the missing builder, and keeps those whose build failed', () => {
  const missing = { ...wrong('builder', 'any', 'NoBuilder', 'NotRegistered'), severity: 'warning' as const };
  const old = { ...wrong('image', 'debian', 'OldBuild', 'NotRebuilt'), severity: 'warning' as const };
  const never = wrong('image', 'fedora', 'NoReadyBuild', 'NeverBuilt');
  const broken = wrong('image', 'arch', 'NoReadyBuild', 'BuildFailed');

  expect(folded(missing, old, never, broken)).toEqual([
    ['NoBuilder', ['OldBuild', 'NoReadyBuild']],
    ['NoReadyBuild', []],
  ]);
});

it('gives a cause the worst severity of what follows from it, and puts errors first', () => {
  const alone = wrong('label', 'sky/a', 'LabelLaunchesFail', 'InstanceFailed', { provider: 'sky', label: 'a' });
  const mild = [slow, { ...alone, severity: 'warning' as const }].map((each) => ({
    ...each,
    severity: 'warning' as const,
  }));
  const groups = foldConditions([...mild, dead]);

  expect(groups.map(({ condition, severity }) => [condition.type, severity])).toEqual([
    ['LabelLaunchesFail', 'error'],
    ['SlowLaunches', 'warning'],
  ]);
});
