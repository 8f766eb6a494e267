import { systemClock } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { listen } from '../../test/program.js';
import { askLaunchers, mergeAnswers } from './ask-launchers.js';

const SUBJECT = { requestId: '200-1' as never };
const POOL = {
  provider: 'rack',
  pool: 'main',
  launcher: 'nl01',
  rule: 'label-quota',
  action: 'wait',
  text: 'none is free',
};
const EXPLAINED = { request: '200-1', state: 'requested', labels: ['small'], pools: [{ ...POOL, own: true }] };

const answering = (status: number, body: unknown) =>
  listen((_, response) => response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body)));

it.each([
  [404, 'Not found', 'it has no /explain: an older launcher, or another service'],
  [503, '', 'it is still starting'],
  [500, '', 'it answered with status 500'],
  [200, '<html>', 'it answered with status 200'],
])('says why there is no explanation: %i %j', async (status, body, why) => {
  const url = await answering(status, body);

  expect(await askLaunchers([url], SUBJECT, systemClock)).toEqual([{ kind: 'failed', url, why }]);
});

it('asks all launchers, and names the one that cannot be reached', async () => {
  const url = await answering(200, EXPLAINED);

  const answers = await askLaunchers([url, 'http://127.0.0.1:1'], SUBJECT, systemClock);

  expect(answers).toMatchObject([
    { kind: 'explained', url, conditions: [] },
    { kind: 'failed', url: 'http://127.0.0.1:1' },
  ]);
});

it('asks about every label of a large request', async () => {
  let asked = '';
  const url = await listen((request, response) => {
    asked = request.url ?? '';
    response.end(JSON.stringify(EXPLAINED));
  });

  await askLaunchers([url], { labels: Array<string>(200).fill('a&b') }, systemClock);

  expect(new URL(asked, url).searchParams.getAll('label')).toEqual(Array<string>(200).fill('a&b'));
});

it('merges explanations of launchers for their own pools, and returns nothing for an unknown request', async () => {
  const url = await answering(200, EXPLAINED);
  const unknown = await answering(404, { error: 'unknown-request' });

  const [one, none] = [
    await askLaunchers([url, unknown], SUBJECT, systemClock),
    await askLaunchers([unknown], SUBJECT, systemClock),
  ];

  expect(mergeAnswers(one)?.explanation.pools).toMatchObject([{ text: 'none is free' }]);
  expect(none).toEqual([{ kind: 'unknown-request', url: unknown }]);
  expect(mergeAnswers(none)).toBeUndefined();
});
