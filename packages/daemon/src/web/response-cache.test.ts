import { expect, it } from 'vitest';
import { ResponseCache } from './response-cache.js';

function setUp() {
  let [nowMs, written] = [1_000_000, 0];
  const cache = new ResponseCache({ now: () => nowMs, setTimer: () => () => {} });
  const get = async (key: string) => {
    const kept = await cache.get(key, () => Promise.resolve(Buffer.from(String(++written))));
    return kept?.body.toString();
  };
  return { cache, get, pass: (ms: number) => void (nowMs += ms) };
}

it('keeps an answer for a second, and no longer when the clock is set back', async () => {
  const { get, pass } = setUp();

  const answers = [await get('a'), await get('a')];
  pass(1_000);
  answers.push(await get('a'));
  pass(-3_600_000);
  answers.push(await get('a'));

  expect(answers).toEqual(['1', '1', '2', '3']);
});

it('writes an answer once for all who ask meanwhile, and after a refusal for the next', async () => {
  const { cache, get } = setUp();

  expect(await cache.get('a', () => Promise.resolve(undefined))).toBeUndefined();
  expect(await Promise.all([get('a'), get('a'), get('b')])).toEqual(['1', '1', '2']);
});

it('keeps the last 64 answers', async () => {
  const { get } = setUp();
  for (let i = 1; i <= 65; i++) await get(`key ${i}`);

  expect(await get('key 65')).toBe('65');
  expect(await get('key 1')).toBe('66');
});
