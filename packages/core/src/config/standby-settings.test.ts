import { describe, expect, it } from 'vitest';
import { linesAbout } from '../../test/support/load-config.js';
import { plainDriver, registryOf } from '../../test/support/plain-driver.js';
import { readKeep, readStandby } from './standby-settings.js';

const able = (stops: boolean) => ({
  capabilities: { launches: true, pausesAtQuota: true, managesImages: false, resumes: true, stops },
});
const saidOf = (standby: string, more = '', driver = plainDriver('plain', able(true))) =>
  linesAbout({
    yaml: `labels: [{name: a, standby: ${standby}${more}}]\nproviders: [{name: p, driver: plain, pools: [{name: main, labels: [{name: a}]}]}]\n`,
    ...{ env: {}, mode: 'validate', drivers: registryOf(driver) },
  });

describe('standby of a label', () => {
  it('is a goal with a limit', () => {
    expect(readStandby({ 'target-wait': 2.5 })).toEqual({ targetWaitMs: 2_500, idleBudget: undefined, atMost: 100 });
    expect(readStandby({ 'idle-budget': 20, 'at-most': 30 })).toEqual({
      ...{ targetWaitMs: undefined, idleBudget: 20, atMost: 30 },
    });
    expect([readStandby(undefined), readStandby({ 'at-most': 3 })]).toEqual([undefined, undefined]);
  });

  it('keeps its nodes stopped when it says so', () => {
    expect([readKeep({ keep: 'stopped' }), readKeep({ keep: 'running' }), readKeep({})]).toEqual([
      ...['stopped', undefined, undefined],
    ]);
  });

  it('cannot keep them stopped where the driver cannot stop them', async () => {
    const said = await saidOf('{keep: stopped}', '', plainDriver('plain', able(false)));
    const static_ = await saidOf('{keep: stopped}', '', plainDriver('plain'));

    expect(said.join('\n')).toContain('label "a" has "keep: stopped", and driver "plain" cannot stop nodes');
    expect(said.join('\n')).toContain(':2:');
    expect(static_.join('\n')).toContain('driver "plain" cannot stop nodes');
  });

  it.each([
    ['5s', 5_000],
    ['1m30s', 90_000],
    ['0.5h', 1_800_000],
  ])('takes %s as a duration, as the command line does', (wait, targetWaitMs) => {
    expect(readStandby({ 'target-wait': wait })).toMatchObject({ targetWaitMs });
  });

  it.each([
    ['{target-wait: 5}', '', undefined],
    ['{target-wait: 5s}', '', undefined],
    ['{target-wait: soon}', '', 'labels[0].standby.target-wait'],
    ['{target-wait: 5 s}', '', 'labels[0].standby.target-wait'],
    ['{keep: stopped}', '', undefined],
    ['{keep: stopped, at-most: 3}', '', undefined],
    ['{keep: frozen}', '', 'labels[0].standby.keep'],
    ['{at-most: 3}', '', 'standby needs one goal, target-wait or idle-budget: it has none'],
    ['{target-wait: 5, idle-budget: 9}', '', 'standby needs one goal, target-wait or idle-budget: it has both'],
    [
      '{target-wait: 5}',
      ', min-ready: -1',
      'min-ready -1 switches the label off, so standby has no effect: remove one of them',
    ],
    ['{target-wait: -5}', '', 'labels[0].standby.target-wait'],
    [
      '{target-wait: 5, at-most: 4}',
      ', min-ready: 5',
      'at-most 4 is below min-ready 5, which is kept while there is no',
    ],
    ['{target-wait: 5, at-most: 4}', ', min-ready: 4', undefined],
    ['{target-wait: 5, at-most: 0}', '', 'at-most 0 keeps no standby node by forecast'],
    ['{target-wait: 5 minutes}', '', 'a duration such as 90s, 10m or 1h30m'],
    ['{target: 5}', '', 'labels[0].standby.target'],
  ])('%s%s', async (standby, more, problem) => {
    const said = await saidOf(standby, more);

    if (problem === undefined) expect(said).toEqual([]);
    else expect(said.join('\n')).toContain(problem);
  });
});
