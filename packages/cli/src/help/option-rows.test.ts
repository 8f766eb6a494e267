import { expect, it } from 'vitest';
import { argumentRows, optionRows, usageWords } from './option-rows.js';

it.each([
  ['', ''],
  ['<id>', 'ID'],
  ['[request]', '[REQUEST]'],
  ['<labels..>', 'LABEL...'],
  ['<action> <name> [nodes]', 'ACTION NAME [NODES]'],
])('writes the usage %j as %j', (usage, words) => {
  expect(usageWords(usage)).toBe(words);
});

it('describes each option by its flags, value and default', () => {
  const rows = optionRows({
    quiet: { type: 'boolean', alias: 'q', default: false, describe: 'say nothing' },
    headers: { type: 'boolean', default: true },
    count: { type: 'number', default: 1 },
    format: { choices: ['table', 'json'] },
    file: { type: 'string', value: 'FILE', demandOption: true },
  });

  expect(rows.map(({ flags, value, note }) => [flags.join(' '), value, note])).toEqual([
    ['-q --quiet', undefined, undefined],
    ['--no-headers', undefined, undefined],
    ['--count', 'N', 'default 1'],
    ['--format', 'table|json', undefined],
    ['--file', 'FILE', 'required'],
  ]);
});

it('describes the arguments that the usage names, in its order', () => {
  const rows = argumentRows('<shell> [labels..]', {
    labels: { describe: 'one node each' },
    shell: { choices: ['sh'] },
  });

  expect(rows).toEqual([
    { name: 'SHELL', describe: '', choices: ['sh'] },
    { name: 'LABEL...', describe: 'one node each', choices: [] },
  ]);
});
