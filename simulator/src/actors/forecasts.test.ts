import {
  encodeNode,
  encodeRequest,
  newNode,
  newRequest,
  nodePath,
  requestPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { SimulatedProcess } from '../world/process.js';
import { World } from '../world/world.js';
import { Forecasts } from './forecasts.js';

const LABELS = [...'abcdefghij'];
const nodeId = (number: number) => String(number).padStart(10, '0') as NodeId;
const requestId = (number: number) => `900-${String(number).padStart(10, '0')}` as RequestId;

it('finds too many standby nodes, and counts those of one request, given up with spoiled records, once', async () => {
  const world = new World(1, false);
  const { zk } = new SimulatedProcess(world, 'launcher1', world.server);
  const forecasts = new Forecasts(world, [], LABELS);
  const label = LABELS.find((name) => forecasts.settingsOf(name).standby) ?? '';
  const most = Math.max(3, forecasts.settingsOf(label).standby?.atMost ?? 0);
  const write = async (path: string, data: Buffer) => {
    const made = zk.ensurePath(path.slice(0, path.lastIndexOf('/'))).then(() => zk.create(path, data));
    let isDone = false;
    void made.then(() => (isDone = true));
    await world.run(5_000, () => isDone);
  };
  const ask = (number: number) => {
    const fields = { labels: [label], requestor: 'NodePool:min-ready' };
    return write(requestPath(requestId(number)), encodeRequest(newRequest(fields, world.clock.now())));
  };
  const make = (number: number, request: number) => {
    const fields = { state: 'building', labels: [label], provider: 'p', pool: 'q' } as const;
    const node = newNode({ ...fields, allocatedTo: requestId(request) }, world.clock.now());
    return write(nodePath(nodeId(number)), encodeNode(node));
  };
  for (let number = 0; number <= most; number++) await ask(number);
  for (let number = 0; number < most; number++) await make(number, number);
  world.spoiled.set(nodePath(nodeId(0)), { before: Buffer.from(''), after: '' });
  await make(100, 0);
  world.spoiled.set(nodePath(nodeId(100)), { before: Buffer.from(''), after: '' });
  await make(102, 0);
  expect(world.violations).toEqual([]);

  await make(101, most);

  const violation = `launcher1: ${most + 1} standby nodes of ${label} are being made, of at most ${most}`;
  expect(world.violations.map(({ message }) => message)).toEqual([violation]);
  world.restore();
});
