import { describe, expect, it } from 'vitest';
import { parseCommandLine, USAGE, UsageError } from './command-line.js';

describe('the command line of the simulator', () => {
  it('has the defaults stated in its usage text', () => {
    expect(parseCommandLine([])).toEqual({
      ...{ kind: 'seeds', from: 1, seeds: 100, trace: false, keepGoing: false, faults: 'all', only: [] },
    });
    expect(parseCommandLine(['--year'])).toEqual({
      ...{ kind: 'year', seed: 1, only: undefined, most: undefined },
      ...{ oneLauncher: false, minReady: 0 },
    });
    expect(USAGE).toMatch(/clock-steps +25 % +clocks of launchers are set/);
    expect(USAGE).toMatch(/--seeds N +how many runs \(default: 100\)\n +--from S .* \(default: 1\)/);
  });

  it.each([
    [['--seeds', '5', '--from=7', '--trace'], { kind: 'seeds', from: 7, seeds: 5, trace: true }],
    [['--year', '--only', 'dead region', '--most', '2'], { kind: 'year', only: 'dead region', most: 2 }],
    [['--year', '--one-launcher', '--min-ready', '6'], { kind: 'year', oneLauncher: true, minReady: 6 }],
    [['--standby', '--from', '3'], { kind: 'standby', seed: 3, year: false }],
    [['--standby', '--year'], { kind: 'standby', seed: 1, year: true }],
    [['--launcher-faults'], { kind: 'seeds', faults: 'launchers' }],
    [['--fault', 'clock-steps', '--fault=cut-off'], { kind: 'seeds', only: ['clock-steps', 'cut-off'] }],
    [['--seeds', 'x', '-h'], { kind: 'help' }],
  ])('reads %j', (args, command) => {
    expect(parseCommandLine(args)).toMatchObject(command);
  });

  it.each([
    [['--seed', '5'], /Unknown option '--seed'/],
    [['7'], /Unexpected argument '7'/],
    [['--seeds'], /--seeds/],
    [['--seeds', '0'], /--seeds needs a whole number, 1 or more, got "0"/],
    [['--seeds', '1e3'], /got "1e3"/],
    [['--from=-1'], /--from needs a whole number, 0 or more/],
    [['--from', '99999999999999999999'], /--from needs a whole number/],
    [['--only', 'herd'], /--only needs --year/],
    [['--min-ready', '3'], /--min-ready needs --year/],
    [['--year', '--min-ready', 'few'], /--min-ready needs a whole number, 0 or more, got "few"/],
    [['--standby', '--year', '--most', '2'], /--most does not go with --standby/],
    [['--year', '--trace'], /--trace does not go with --year/],
    [['--fault', 'flood'], /there is no fault "flood"; there are processes, .*, wake-order/],
    [['--year', '--fault', 'clouds'], /--fault does not go with --year/],
    [['--year', '--only', 'flood'], /there is no incident "flood"; there are dead region, .*, herd/],
  ])('refuses %j', (args, text) => {
    expect(() => parseCommandLine(args)).toThrow(UsageError);
    expect(() => parseCommandLine(args)).toThrow(text);
  });
});
