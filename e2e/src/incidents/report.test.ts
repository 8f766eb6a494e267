import { describe, expect, it } from 'vitest';
import { incidentText, summary, unnamed, type Outcome } from './report.js';

const said = (instrument: string, afterS: number, ...lines: string[]) => ({ instrument, afterS, lines });
const down: Outcome = {
  name: 'API down',
  named: /refused/,
  answers: [
    said('doctor', 30, 'Nothing is wrong.'),
    said('doctor', 60, 'error: provider real', '  connection refused'),
    said('labels', 30, 'small'),
    said('labels', 60),
  ],
  endedS: 12,
};

describe('a report of incidents', () => {
  it('has the line that names the cause, else the first line', () => {
    expect(incidentText(down).split('\n')).toEqual([
      '## API down',
      '',
      'Names the cause: `refused`',
      '',
      '- doctor, 30 s: `Nothing is wrong.`',
      '- doctor, 60 s: **named** `connection refused`',
      '- labels, 30 s: `small`',
      '- labels, 60 s: `(nothing)`',
      '- doctor no longer named it 12 s after the repair',
      '',
    ]);
  });

  it('sums up when each instrument named it first', () => {
    expect(summary([down]).split('\n')).toEqual([
      '| incident | doctor | labels | ended |',
      '| --- | ---: | ---: | ---: |',
      '| API down | 60 | - | 12 |',
    ]);
  });

  it('lists incidents that nothing named, and those that broke off', () => {
    const silent = { ...down, name: 'silent', named: /absent/ };
    const broken = { ...down, name: 'broken', error: 'no server' };

    expect(unnamed([down, silent, broken])).toEqual(['silent', 'broken']);
  });
});
