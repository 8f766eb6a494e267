import { patientClock } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import type { DriverSetup } from '@nodepool/core/config';
import { expect, it } from 'vitest';
import type { CliContext } from '../command/context.js';
import { globalOptions } from '../command/global-options.js';
import { answerQuestions, findChoice } from './cloud.js';

const asked: Record<string, string>[] = [];
const list = (...values: string[]) => values.map((value) => ({ value }));
const setup: DriverSetup = {
  questions: [
    { key: 'image', subject: 'image', choices: () => list('debian', 'fedora') },
    {
      key: 'flavor',
      subject: 'flavor',
      choices: ({ answers }) => {
        asked.push({ ...answers });
        return list('small', 'large');
      },
    },
    { key: 'network', subject: 'network', optional: true, choices: () => list('ci', 'public') },
    { key: 'username', subject: 'user', open: true, choices: () => list('debian') },
  ],
  options: ['endpoint'],
  getEntry: () => ({}),
};
const context: CliContext = { options: globalOptions({ _: [] }), logger: silentLogger, clock: patientClock, env: {} };
const { signal } = new AbortController();
const answer = (given: Record<string, string>, own: DriverSetup = setup) =>
  answerQuestions(context, { setup: own, given, prompter: undefined, signal });

it('takes answers from the command line, defaults for open questions, and nothing for optional ones', async () => {
  const answers = await answer({ image: 'debian', flavor: 'small', endpoint: 'http://x' });

  expect(answers).toEqual({ image: 'debian', flavor: 'small', username: 'debian', endpoint: 'http://x' });
  expect(asked.at(-1)).toEqual({ image: 'debian', endpoint: 'http://x' });
});

it.each([
  [{ image: 'debian' }, 'No flavor is given: add --set flavor=VALUE. There are: small, large'],
  [{ image: 'suse' }, 'There is no image "suse". There are: debian, fedora'],
  [{ imgae: 'debian' }, '--set imgae: unknown, known are image, flavor, network, username, endpoint'],
])('refuses %j', async (given, message) => {
  await expect(answer(given)).rejects.toThrow(message);
});

it('reports that there is nothing to choose', async () => {
  const empty = { ...setup, questions: [{ key: 'image', subject: 'image', choices: () => [] }] };

  await expect(answer({}, empty)).rejects.toThrow('There is no image to choose');
});

it('names at most twenty of very many choices', async () => {
  const many = list(...Array.from({ length: 5_000 }, (_, index) => `image-${index}`));
  const huge = { ...setup, questions: [{ key: 'image', subject: 'image', choices: () => many }] };

  await expect(answer({}, huge)).rejects.toThrow(/image-19 and 4980 more$/);
});

const choices = ['Debian 12', 'Debian 13', '3'].map((value) => ({ value }));
const names = (answer: string) => findChoice(choices, answer).map(({ value }) => value);

it.each([
  ['2', ['Debian 13']],
  ['Debian 12', ['Debian 12']],
  ['debian', ['Debian 12', 'Debian 13']],
  ['13', ['Debian 13']],
  ['4', []],
  ['0', []],
  ['-1', []],
  ['1.5', []],
])('%j means %j', (answer, found) => {
  expect(names(answer)).toEqual(found);
});

it('prefers a name that looks like a number over the number', () => {
  expect(names('3')).toEqual(['3']);
});
