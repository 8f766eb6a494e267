import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeLine, pastEvent, type PastLine } from '@nodepool/history';
import { listen } from '../../test/program.js';
import { useWorld } from '../../test/world.js';

const get = useWorld();

const HOUR_MS = 3_600_000;
const BEGAN_MS = Date.now() - 10 * HOUR_MS;

/** A node of each tenant that boots for an hour and is used for an hour; that of `b` has no end on record. */
function history(): string[] {
  const lines = ['a', 'b'].flatMap((tenant, i): PastLine[] => {
    const id = `200-${i}`;
    const state = (hours: number, name: string) => pastEvent(BEGAN_MS + hours * HOUR_MS, 'state', '', name);
    return [
      {
        ...{ kind: 'node', id: String(i), isFirst: true },
        facts: { request: id, labels: ['small'], pool: 'cloud/main', resources: { cores: 2, ram: 2048 } },
        events: [
          ...[state(0, 'building'), state(1, 'ready'), state(1, 'in-use')],
          ...(tenant === 'a' ? [pastEvent(BEGAN_MS + 2 * HOUR_MS, 'gone')] : []),
        ],
      },
      {
        ...{ kind: 'request', id, events: [pastEvent(BEGAN_MS, 'queued', 'cloud/main')] },
        facts: { createdMs: BEGAN_MS, labels: ['small'], requestor: 'zuul', tenant },
      },
    ];
  });
  return lines.map((line) => encodeLine(line, BEGAN_MS));
}

async function writeHistory(...lines: string[]): Promise<string> {
  const directory = join(get().directory, 'history');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${BEGAN_MS}-abcd.jsonl`), lines.map((line) => `${line}\n`).join(''));
  await get().write('priced.yaml', 'labels: [{name: small, price: {cloud: 0.5}}]\n');
  return directory;
}

function usage(...args: string[]) {
  return get().nodepool('priced.yaml', 'usage', ...args);
}

describe('nodepool usage', () => {
  it('sums node-hours, cores, RAM and cost', async () => {
    const from = await writeHistory(...history());

    const table = await usage('--from', from, '--since', '11h');
    const json = await usage('--from', from, '--since', '11h', '--by', 'provider', '--json');
    const csv = await usage(
      '--from',
      from,
      '--since',
      '11h',
      '--format',
      'csv',
      '--fields',
      'tenant,node_seconds,cost',
    );

    expect(table.stdout).toMatch(/\| a +\| 1\.0 +\| 0\.0 +\| 1\.0 +\| 0\.0 +\| 2\.0 +\| 4\.0 +\| 4\.0 +\| 1\.00 \|/);
    expect(table.stderr).toContain('1 nodes have no end on record: they count until the end of the history');
    expect(JSON.parse(json.stdout)).toMatchObject([
      { provider: 'cloud', node_seconds_boot: 7_200, node_seconds: 14_400, core_seconds: 28_800, cost: 2 },
    ]);
    expect(csv.stdout).toBe('tenant,node_seconds,cost\na,7200,1\nb,7200,1\n');
  });

  it('counts a node that exists until now, by the answer of a launcher', async () => {
    await writeHistory();
    const url = await listen((request, response) => {
      const isList = request.url?.startsWith('/node-list') === true;
      const page = { base_time: BEGAN_MS / 1000, lines: history(), next: null };
      response.end(JSON.stringify(isList ? [{ id: '1' }] : page));
    });

    const { stdout, stderr } = await usage(
      '--from',
      url,
      '--since',
      '11h',
      '--json',
      '--fields',
      'tenant,node_seconds',
    );

    expect(stderr).not.toContain('no end');
    const [b] = JSON.parse(stdout) as { node_seconds: number }[];
    expect(b?.node_seconds).toBeGreaterThanOrEqual(10 * 3_600);
  });

  it.each([
    [['--since', '1m'], /^nodepool: No node is on record for this time: the history reaches from .*--since\n$/],
    [['--since', '1h', '--until', '2h'], /^nodepool: --since must be before --until, and in the past\n/],
    [['--by', 'colour'], /tenant.*project.*label.*provider/],
    [['--fields', 'colour'], /unknown field "colour", known are tenant, node_seconds_boot/],
  ])('says what is wrong: %j', async (args, problem) => {
    const from = await writeHistory(...history().slice(0, 2));

    const { status, stderr, stdout } = await usage('--from', from, ...args);

    expect([status === 0, stdout]).toEqual([false, '']);
    expect(stderr).toMatch(problem);
  });

  it('skips damaged lines, and says how many', async () => {
    const from = await writeHistory('{"n":"7","t":', ...history(), '\0\0');

    const { status, stderr } = await usage('--from', from, '--since', '11h');

    expect([status, stderr]).toEqual([0, expect.stringContaining('skipped 2 damaged lines of its history')]);
  });

  it('says that a history is empty', async () => {
    const { status, stderr } = await usage('--from', await writeHistory());

    expect([status, stderr]).toEqual([
      1,
      'nodepool: No node is on record for this time: launchers keep a history of one day unless "history" says otherwise\n',
    ]);
  });
});
