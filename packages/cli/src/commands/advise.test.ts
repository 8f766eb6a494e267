import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeLine, pastEvent, type PastLine } from '@nodepool/history';
import { useWorld } from '../../test/world.js';

const get = useWorld();

const DAY_MS = 86_400_000;
const BOOT_MS = 120_000;
const NOW_MS = Date.now();
const BEGAN_MS = NOW_MS - 40 * DAY_MS;

/** Four requests at once, once a day. */
function history(days: number): string[] {
  const lines: PastLine[] = [];
  for (let at = 0; at < days * 4; at++) {
    const createdMs = NOW_MS - (Math.floor(at / 4) + 0.5) * DAY_MS;
    const request = `200-${at}`;
    const ready = createdMs + BOOT_MS;
    const facts = { createdMs, labels: ['small'], requestor: 'zuul', tenant: null };
    const state = (timeMs: number, name: string) => pastEvent(timeMs, 'state', '', name);
    lines.push(
      { kind: 'request', id: request, facts, events: [pastEvent(createdMs, 'queued'), pastEvent(ready, 'fulfilled')] },
      {
        ...{ kind: 'node', id: String(at), isFirst: true, facts: { request, labels: ['small'], pool: 'cloud/main' } },
        events: [state(createdMs, 'building'), state(ready, 'ready'), pastEvent(ready + 1, 'gone')],
      },
    );
  }
  return [alive(NOW_MS - days * DAY_MS), ...lines.map((line) => encodeLine(line, BEGAN_MS))];
}

function alive(timeMs: number): string {
  return encodeLine({ kind: 'alive', what: 'alive', timeMs }, BEGAN_MS);
}

async function advise(lines: readonly string[], ...args: string[]) {
  const directory = join(get().directory, 'history');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${BEGAN_MS}-abcd.jsonl`), lines.map((line) => `${line}\n`).join(''));
  await get().write('priced.yaml', 'labels: [{name: small, min-ready: 2, price: 0.5}, {name: big}]\n');
  return get().nodepool('priced.yaml', 'advise', '--from', directory, ...args);
}

describe('nodepool advise', () => {
  it('proposes standby nodes, with what they would have spared', async () => {
    const json = await advise(history(21), '--json', '--label', 'small', '--worth', '100');
    const table = await advise(history(21), '--fields', 'label,policy,proposed', '--worth', '100');
    const csv = await advise(history(21), '--format', 'csv', '--label', 'small', '--fields', 'policy,nodes');

    const rows = JSON.parse(json.stdout) as Record<string, number | string | boolean>[];
    const [now, minReady, schedule] = rows;
    expect(rows.map(({ policy }) => policy)).toEqual(['now', 'min-ready', 'schedule', 'auto']);
    expect(now).toMatchObject({ label: 'small', nodes: 2, requests: 28, p95: 120, saved_hours: 0, proposed: false });
    expect(minReady).toMatchObject({ nodes: 4, p95: 0, proposed: false, reason: null });
    expect(schedule).toMatchObject({ nodes: null, proposed: true });
    expect(schedule?.['reason']).toContain('; write: standby: { schedule: [{ from: ');
    expect(schedule?.['saved_cost']).toBeCloseTo(Number(schedule?.['saved_hours']) / 2, 1);
    expect(table.stdout).toMatch(/\| small \| schedule +\| yes +\|/);
    expect(table.stdout).toMatch(/\| big +\| - +\| +\|/);
    expect(csv.stdout).toBe('policy,nodes\nnow,2\nmin-ready,4\nschedule,\nauto,\n');
  });

  it('says that stopped nodes cost less than its figures', async () => {
    const running = await advise(history(21), '--label', 'small');
    await get().write('stopped.yaml', 'labels: [{name: small, standby: {keep: stopped}}]\n');
    const directory = join(get().directory, 'history');
    const stopped = await get().nodepool('stopped.yaml', 'advise', '--from', directory);
    await get().write('other.yaml', 'labels: [{name: big}]\n');
    const replayed = await get().nodepool('other.yaml', 'replay', '--standby', '--since', '7d', '--from', directory);

    expect(running.stderr).not.toContain('stopped');
    expect(stopped.stderr).toContain('label "small" keeps stopped nodes');
    expect(replayed.stderr).toContain('label "small" is not in the configuration');
  });

  it.each<[string, string[], RegExp]>([
    ['no history', [], /^(?!.*yes).*no request for it is on record/s],
    ['a short history', history(6), /its requests of 6 days are on record, and 14 days are needed/],
  ])('proposes nothing from %s, and says why', async (_, lines, reason) => {
    const { status, stdout } = await advise(lines);

    expect(status).toBe(0);
    expect(stdout).toMatch(reason);
  });

  it.each<[string[], string[], number, RegExp]>([
    [[...history(14), 'x', 'y'], [], 1, /Nothing is proposed, as 2 of 115 lines of the history are damaged\n$/],
    [[alive(NOW_MS + DAY_MS)], [], 1, /the history reaches to .*, which is in the future: a clock has jumped/],
    [[], ['--label', 'colour'], 2, /the configuration has no label "colour"/],
    [[], ['--since', '2999-01-01'], 2, /--since must be in the past/],
    [[], ['--goal', '100'], 2, /--goal needs a percentage above 0 and below 100/],
    [[], ['--worth', '0'], 2, /--worth needs a number of node-hours above 0/],
  ])('refuses what it cannot trust, or does not know', async (lines, args, exit, problem) => {
    const { status, stdout, stderr } = await advise(lines, ...args);

    expect([status, stdout]).toEqual([exit, '']);
    expect(stderr).toMatch(problem);
  });

  it('needs a configuration and a history', async () => {
    const none = await get().nodepool('missing.yaml', 'advise');
    const folder = await get().nodepool('priced.yaml', 'advise', '--from', join(get().directory, 'nowhere'));

    expect(none.status).not.toBe(0);
    expect([folder.status, folder.stderr]).toEqual([1, expect.stringContaining('there is no history in this folder')]);
  });
});
