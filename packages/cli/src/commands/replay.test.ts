import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { encodeLine, pastEvent, type PastLine } from '@nodepool/history';
import { useWorld } from '../../test/world.js';
import { listen, nodepool } from '../../test/program.js';

const get = useWorld();

const HOUR_MS = 3_600_000;
const BEGAN_MS = Date.now() - 2 * HOUR_MS;
const EVERY_MS = 60_000;
const USE_MS = 90_000;
const BOOT_MS = 20_000;
const REQUESTS = 40;

/** A request each minute for a machine of `cloud/main`, which boots in 20 s and is used for 90 s. */
function history(): string {
  const lines: PastLine[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const id = `200-${String(i).padStart(10, '0')}`;
    const createdMs = BEGAN_MS + i * EVERY_MS;
    const readyMs = createdMs + BOOT_MS;
    const usedMs = readyMs + USE_MS;
    const facts = { createdMs, labels: ['small'], requestor: 'zuul', tenant: null };
    const node = (atMs: number, state: string) => pastEvent(atMs, 'state', '', state);
    lines.push(
      {
        ...{ kind: 'node', id: String(i).padStart(10, '0'), isFirst: true },
        facts: { request: id, labels: ['small'], pool: 'cloud/main' },
        events: [
          ...[node(createdMs, 'init'), node(createdMs, 'building'), node(readyMs, 'ready'), node(readyMs, 'in-use')],
          ...[node(usedMs, 'used'), node(usedMs, 'deleting'), pastEvent(usedMs + 1_000, 'gone')],
        ],
      },
      {
        ...{ kind: 'request', id, facts },
        events: [pastEvent(createdMs, 'taken', 'cloud/main'), pastEvent(readyMs, 'fulfilled')],
      },
    );
  }
  return lines.map((line) => `${encodeLine(line, BEGAN_MS)}\n`).join('');
}

async function writeHistory(): Promise<string> {
  const directory = join(get().directory, 'history');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${BEGAN_MS}-abcd.jsonl`), history());
  return directory;
}

async function writeConfig(name: string, maxServers: number, label = 'small'): Promise<void> {
  await get().write(
    name,
    `labels: [{name: ${label}}]
providers:
  - name: cloud
    driver: fake
    cloud-images: [{name: debian}]
    pools:
      - {name: main, max-servers: ${maxServers}, labels: [{name: ${label}, cloud-image: debian, min-ram: 1024}]}
`,
  );
}

describe('nodepool replay', () => {
  it('compares what was with what would have been', async () => {
    const from = await writeHistory();
    await writeConfig('same.yaml', 10);
    await writeConfig('small.yaml', 1);

    const same = await get().nodepool('same.yaml', 'replay', '--from', from, '--format', 'json');
    const small = await get().nodepool('small.yaml', 'replay', '--from', from, '--json');
    const table = await get().nodepool('same.yaml', 'replay', '--from', from, '--fields', 'label,p50_replayed');

    expect(same).toMatchObject({ status: 0 });
    const [row] = JSON.parse(same.stdout) as Record<string, number>[];
    expect(row).toMatchObject({
      label: 'small',
      requests: REQUESTS,
      p50_recorded: 20,
      peak_recorded: 2,
      peak_replayed: 2,
    });
    expect(row?.['p50_replayed']).toBeCloseTo(20, 0);
    const [less] = JSON.parse(small.stdout) as Record<string, number>[];
    expect(less).toMatchObject({ peak_replayed: 1, failed_replayed: 0 });
    expect(less?.['p50_replayed']).toBeGreaterThan(200);
    expect(table.stdout).toMatch(/^\+-+\+-+\+\n\| Label \| P50 New \|\n.*\n\| small \| 20\.\d s {2}\|/);
  });

  it('compares numbers of standby nodes', async () => {
    const from = await writeHistory();
    await writeConfig('same.yaml', 10);

    const json = await get().nodepool('same.yaml', 'replay', '--standby', '--from', from, '--json');
    const table = await get().nodepool('same.yaml', 'replay', '--standby', '--from', from, '--target-wait', '1m');
    const later = await get().nodepool('same.yaml', 'replay', '--standby', '--from', from, '--since', '1m');

    expect(json.stderr).toContain('less than a week before the replayed time is known');
    const rows = JSON.parse(json.stdout) as Record<string, unknown>[];
    expect(rows.map(({ policy }) => policy)).toEqual([
      ...['recorded', 'configured', 'follow', 'schedule', 'auto', 'constant', 'clairvoyant'],
    ]);
    expect(rows[0]).toMatchObject({ label: 'small', requests: REQUESTS, p50: 20, p95: 20, idle_hours: 0 });
    expect(rows[5]).toMatchObject({ nodes: 1, p95: 0, at_once: 100 });
    expect(table.stdout).toMatch(/\| small \| constant +\| 0 /);
    expect([later.status, later.stderr]).toEqual([1, expect.stringContaining('No request of this time is on record')]);
  });

  it('reads the pages of a web server, again where it is busy', async () => {
    const lines = history().trimEnd().split('\n');
    let asked = 0;
    const url = await listen((request, response) => {
      if (++asked === 2) return void response.writeHead(429).end();
      const page = /^\/api\/v1\/history\/pages\/(\w+)\?since=\d/.exec(request.url ?? '')?.[1];
      const after = page === 'first' ? 0 : Number(page);
      const next = after + 30 < lines.length ? String(after + 30) : null;
      response.end(JSON.stringify({ base_time: BEGAN_MS / 1000, lines: lines.slice(after, after + 30), next }));
    });
    await writeConfig('same.yaml', 10);

    const { status, stdout } = await get().nodepool('same.yaml', 'replay', '--from', url, '--json');

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ label: 'small', requests: REQUESTS }]);
  });

  it('gives up on a web server that stays busy', async () => {
    const url = await listen((_, response) => void response.writeHead(429, { 'Retry-After': '3600' }).end());
    await writeConfig('same.yaml', 10);

    const { status, stderr } = await get().nodepool('same.yaml', 'replay', '--from', url);

    expect(status).toBe(1);
    expect(stderr).toBe(
      `nodepool: ${url}: it is too busy to answer (status 429), asked once: ask again in 3600 s or later\n`,
    );
  });

  it('names the part of a history that is damaged', async () => {
    const from = await writeHistory();
    const damaged = join(from, `${BEGAN_MS + 1}-abcd.jsonl.gz`);
    await writeFile(damaged, 'not compressed');
    onTestFinished(() => rm(damaged));
    await writeConfig('same.yaml', 10);

    const { status, stderr } = await get().nodepool('same.yaml', 'replay', '--from', from);

    expect(status).toBe(1);
    expect(stderr).toBe(
      `nodepool: ${from}: ${BEGAN_MS + 1}-abcd.jsonl.gz cannot be read: incorrect header check; ` +
        'move it away to continue without it\n',
    );
  });

  it.each([
    [
      'a label that is gone',
      ['other.yaml'],
      /no pool of the configuration serves label "small", which 40 of the recorded/,
    ],
    [
      'an empty time',
      ['same.yaml', '--since', '1m'],
      /no request between .* is on record: those there are began between/,
    ],
    ['an invalid file', ['broken.yaml'], /Configuration is not valid/],
    [
      'a folder without a history',
      ['same.yaml', '--from', '/nowhere'],
      /\/nowhere: there is no history in this folder/,
    ],
    ['a server that does not answer', ['same.yaml', '--from', 'http://127.0.0.1:1'], /http:\/\/127.0.0.1:1: \w/],
  ])('says in a line what is wrong with %s, with status 1', async (_what, [config = '', ...options], text) => {
    const from = await writeHistory();
    await writeConfig('same.yaml', 10);
    await writeConfig('other.yaml', 10, 'large');
    await get().write('broken.yaml', 'providers: [');
    const sources = options.includes('--from') ? [] : ['--from', from];

    const { status, stderr } = await get().nodepool(config, 'replay', ...sources, ...options);

    expect(status).toBe(1);
    expect(stderr).toMatch(text);
  });

  it('needs a configuration, and times that are some', async () => {
    const without = await nodepool('replay');
    const turned = await nodepool('replay', '-c', 'x.yaml', '--since', '1h', '--until', '2h');
    const wrong = await nodepool('replay', '-c', 'x.yaml', '--since', 'yesterday');

    expect([without.status, turned.status, wrong.status]).toEqual([2, 2, 2]);
    expect(without.stderr).toContain('replay needs a configuration: nodepool replay -c FILE');
    expect(turned.stderr).toContain('--since must be before --until');
    expect(wrong.stderr).toContain('--since needs a duration');
  });
});
