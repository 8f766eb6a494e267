import { describe, expect, it } from 'vitest';
import { newNode, type Json, type NodeId, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { toPythonRepr } from '../text/python-text.js';
import { formatAge } from './age.js';
import { ListingJsonWriter, listingToJson, listingToTable, toCell } from './listing.js';
import { extendedNodeListing, nodeListing, type NodeRow } from './nodes.js';

const NOW_MS = 1_700_000_000_000;

function nodeRow(changes: Partial<NodeRecord>, locked: boolean): NodeRow {
  const node = newNode({ state: 'ready', pool: 'main', username: 'zuul' }, NOW_MS);
  return { node: { ...node, id: '0000000001' as NodeId, ...changes }, locked };
}

const LAUNCHER = 'nl01.example.com-PoolWorker.cloud-a-main-0f3c1f2c7be94b6f9d0c0a4b1f5e6a7d';
const SERVER = '0b0f8b0a-5f3c-4a8e-9d6e-5a8a3e1f0c11';

const cloudRow = nodeRow(
  {
    id: '0000000042' as NodeId,
    provider: 'cloud-a',
    labels: ['small'],
    externalId: SERVER,
    publicIpv4: '203.0.113.7',
    publicIpv6: '2001:db8::7',
    state: 'in-use',
    stateTimeMs: NOW_MS - (86_400 + 3600 + 60 + 1) * 1000,
    privateIpv4: '10.0.0.7',
    az: 'nova',
    launcher: LAUNCHER,
    allocatedTo: '200-0000001234' as RequestId,
    userData: { zuul_system: '9f3e0a', project_name: 'p' },
  },
  true,
);

const staticRow = nodeRow(
  {
    id: '0000000007' as NodeId,
    provider: 'static-rack',
    labels: ['trusty-static', 'big'],
    externalId: 'host1.example.com',
    publicIpv4: '192.0.2.10',
    stateTimeMs: NOW_MS - 5000,
    hostname: 'host1.example.com',
    connectionPort: 22022,
    launcher: 'static driver',
  },
  false,
);

const rows = [cloudRow, staticRow];

describe('node listing', () => {
  it('prints the table Nodepool prints', () => {
    const table = listingToTable(nodeListing, rows, NOW_MS);

    expect(table.split('\n')).toEqual([
      '+------------+-------------+-------------------+--------------------------------------+-------------+-------------+--------+-------------+----------+',
      '| ID         | Provider    | Label             | Server ID                            | Public IPv4 | IPv6        | State  | Age         | Locked   |',
      '+------------+-------------+-------------------+--------------------------------------+-------------+-------------+--------+-------------+----------+',
      `| 0000000042 | cloud-a     | small             | ${SERVER} | 203.0.113.7 | 2001:db8::7 | in-use | 01:01:01:01 | locked   |`,
      '| 0000000007 | static-rack | trusty-static,big | host1.example.com                    | 192.0.2.10  |             | ready  | 00:00:00:05 | unlocked |',
      '+------------+-------------+-------------------+--------------------------------------+-------------+-------------+--------+-------------+----------+',
    ]);
  });

  it('adds the detail columns when asked', () => {
    const header = listingToTable(nodeListing, [], NOW_MS, { detail: true }).split('\n')[1];

    expect(header).toBe(
      '| ID | Provider | Label | Server ID | Public IPv4 | IPv6 | State | Age | Locked | Pool | Hostname | Private IPv4 | AZ | Username | Port | Launcher | Allocated To | Hold Job | Comment | User Data | Driver Data |',
    );
  });

  it('shows objects in Python notation', () => {
    const table = listingToTable(nodeListing, [cloudRow], NOW_MS, { fields: new Set(['user_data']) });

    expect(table.split('\n')[3]).toBe("| {'zuul_system': '9f3e0a', 'project_name': 'p'} |");
  });

  it('keeps the order of the table for chosen fields and ignores unknown ones', () => {
    const table = listingToTable(nodeListing, rows, NOW_MS, { fields: new Set(['state', 'nonsense', 'id']) });

    expect(table.split('\n')).toEqual([
      '+------------+--------+',
      '| ID         | State  |',
      '+------------+--------+',
      '| 0000000042 | in-use |',
      '| 0000000007 | ready  |',
      '+------------+--------+',
    ]);
  });

  it('prints a header between rules when there is nothing to list', () => {
    const table = listingToTable(nodeListing, [], NOW_MS);

    expect(table.split('\n')).toEqual([
      '+----+----------+-------+-----------+-------------+------+-------+-----+--------+',
      '| ID | Provider | Label | Server ID | Public IPv4 | IPv6 | State | Age | Locked |',
      '+----+----------+-------+-----------+-------------+------+-------+-----+--------+',
      '+----+----------+-------+-----------+-------------+------+-------+-----+--------+',
    ]);
  });

  it('writes the JSON Nodepool writes', () => {
    const json = listingToJson(nodeListing, [staticRow], NOW_MS);

    expect(json).toBe(
      '[{"id": "0000000007", "provider": "static-rack", "label": ["trusty-static", "big"], "server_id": "host1.example.com", "public_ipv4": "192.0.2.10", "ipv6": null, "state": "ready", "age": "00:00:00:05", "locked": "unlocked", "pool": "main", "hostname": "host1.example.com", "private_ipv4": null, "AZ": null, "username": "zuul", "connection_port": 22022, "launcher": "static driver", "allocated_to": null, "hold_job": null, "comment": null, "user_data": null, "driver_data": null}]',
    );
  });

  it('hides a port that is not a number', () => {
    const row = nodeRow({ connectionPort: { token: 'secret' } }, false);

    const json = listingToJson(extendedNodeListing, [row], NOW_MS, new Set(['connection_port']));

    expect(json).toBe('[{"connection_port": "redacted"}]');
  });
});

describe('a listing that is written again and again', () => {
  const write = (writer: ListingJsonWriter<NodeRow>, list: NodeRow[], nowMs: number) =>
    [...writer.parts(list, nowMs)].join('');

  it('reflects changes: time, locks, and replaced records', () => {
    const writer = new ListingJsonWriter(nodeListing, ({ node }) => node);
    write(writer, rows, NOW_MS);
    const later = [
      { ...cloudRow, locked: false },
      { node: { ...staticRow.node, state: 'in-use' }, locked: true },
    ];

    expect(write(writer, later, NOW_MS + 60_000)).toBe(listingToJson(nodeListing, later, NOW_MS + 60_000));
  });

  it('computes unchanging values only once', () => {
    let asked = 0;
    const counted = nodeListing.map((column) => ({
      ...column,
      value: (row: NodeRow, nowMs: number) => (asked++, column.value(row, nowMs)),
    }));
    const writer = new ListingJsonWriter(counted, ({ node }) => node);
    write(writer, [cloudRow], NOW_MS);
    asked = 0;
    write(writer, [cloudRow], NOW_MS);

    expect(asked).toBe(2); // age and lock
  });

  it('is the same however many rows there are', () => {
    const many = Array.from({ length: 1001 }, () => staticRow);

    const json = JSON.parse(write(new ListingJsonWriter(nodeListing), many, NOW_MS)) as unknown[];
    const lines = listingToTable(nodeListing, many, NOW_MS).split('\n');

    expect(json).toHaveLength(1001);
    expect(new Set(json.map((row) => JSON.stringify(row))).size).toBe(1);
    expect(lines).toHaveLength(1001 + 4);
  });
});

describe('formatAge', () => {
  it.each([
    [0, '00:00:00:00'],
    [59, '00:00:00:59'],
    [60, '00:00:01:00'],
    [3600, '00:01:00:00'],
    [86_399, '00:23:59:59'],
    [86_400, '01:00:00:00'],
    [8_640_000, '100:00:00:00'],
    [123_456.9, '01:10:17:36'],
  ])('shows %s seconds as %s', (seconds, text) => {
    expect(formatAge(seconds * 1000)).toBe(text);
  });
});

describe('cells', () => {
  it.each<[Json, string]>([
    [null, ''],
    [true, 'True'],
    [['a', 1], 'a,1'],
    [{ a: [null, false, "it's"] }, `{'a': [None, False, "it's"]}`],
    ['\u001b[2Jgone', '\\x1b[2Jgone'],
  ])('shows %j as %s', (value, cell) => {
    expect(toCell(value)).toBe(cell);
  });

  it('quotes text the way Python does', () => {
    expect(toPythonRepr(`both ' and "`)).toBe(`'both \\' and "'`);
  });
});

it('a long comment lengthens only its own row', () => {
  const comment = 'x'.repeat(4_000);
  const rows = [nodeRow({ comment }, false), nodeRow({ comment: 'short' }, false)];

  const lines = listingToTable(nodeListing, rows, NOW_MS, { detail: true }).split('\n');

  expect(lines[3]).toContain(comment);
  expect(lines[4]?.length).toBeLessThan(600);
  expect(lines[0]?.length).toBe(lines[4]?.length);
});
