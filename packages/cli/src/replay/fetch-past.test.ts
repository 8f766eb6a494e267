import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@nodepool/core/testing';
import { encodeLine, pastEvent } from '@nodepool/history';
import { Past } from '@nodepool/history/replay';
import { systemClock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listen } from '../../test/program.js';
import { fetchPast } from './fetch-past.js';

const BEGAN_MS = 1_600_000_000_000;
const RANGE = { sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER };

/** A line of a request that was created with the file. */
function line(id: string): string {
  const facts = { createdMs: BEGAN_MS, labels: ['small'], requestor: 'zuul', tenant: null };
  return encodeLine({ kind: 'request', id, facts, events: [pastEvent(BEGAN_MS, 'taken', 'cloud/main')] }, BEGAN_MS);
}

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-past-'))));
afterEach(() => rmSync(directory, { recursive: true }));

async function requests(source: string, range = RANGE): Promise<string[]> {
  const past = new Past();
  await fetchPast(past, source, range, systemClock);
  return past.requests.map(({ id }) => id);
}

it('reads the files of a folder that cover the requested period', async () => {
  writeFileSync(join(directory, `${BEGAN_MS}-abcd.jsonl`), `${line('200-1')}\n\nnot a line\n${line('200-2')}\n`);

  expect(await requests(directory)).toEqual(['200-1', '200-2']);
  expect(await requests(directory, { ...RANGE, untilMs: BEGAN_MS - 1 })).toEqual([]);
});

it('reads all pages of a web server', async () => {
  const url = await listen(({ url: path = '' }, response) => {
    const isFirst = path.startsWith('/api/v1/history/pages/first?since=0&until=');
    const page = {
      base_time: BEGAN_MS / 1000,
      lines: [line(isFirst ? '200-1' : '200-2')],
      next: isFirst ? 'a/b' : null,
    };
    response
      .writeHead(isFirst || path.startsWith('/api/v1/history/pages/a%2Fb?') ? 200 : 500)
      .end(JSON.stringify(page));
  });

  expect(await requests(url)).toEqual(['200-1', '200-2']);
});

it('gives up on a web server that stays busy', async () => {
  const clock = new VirtualClock();
  const url = await listen((_, response) => response.writeHead(429, { 'Retry-After': '3600' }).end());

  await expect(fetchPast(new Past(), url, RANGE, clock)).rejects.toThrow(`${url}: it is too busy to answer`);
});

it.each([
  [404, '', 'it cannot list its history: an older launcher'],
  [500, '', 'it answered with status 500'],
  [200, '{}', 'its answer is not a history'],
])('says why a web server tells no history: %i %j', async (status, body, message) => {
  const url = await listen((_, response) => response.writeHead(status).end(body));

  await expect(requests(url)).rejects.toThrow(`${url}: ${message}`);
});

it.each(['http://127.0.0.1:1', '/nowhere'])('names a source that is not there: %s', async (source) => {
  await expect(requests(source)).rejects.toThrow(new RegExp(`^${source}: \\S+`));
});

it('names a file that is damaged', async () => {
  writeFileSync(join(directory, `${BEGAN_MS}-abcd.jsonl.gz`), 'not compressed');

  await expect(requests(directory)).rejects.toThrow(
    `${BEGAN_MS}-abcd.jsonl.gz cannot be read: incorrect header check; move it away to continue without it`,
  );
});
