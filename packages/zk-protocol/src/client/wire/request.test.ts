import { expect, it } from 'vitest';
import { OpCode } from './opcodes.js';
import { MalformedFrameError, WireReader } from './reader.js';
import { Request, stripChroot, type Decoder } from './request.js';

const NO_NODE = -101;
const empty = () => new WireReader();

function requestOf<T>(decode: Decoder<T>, opCode: number = OpCode.GET_DATA, fallback?: T) {
  const request = new Request<T>(opCode, '/chroot/a', '/chroot', () => {}, decode, fallback);
  const outcome = new Promise<T>((resolve, reject) => request.settleWith(resolve, reject));
  return { request, outcome };
}

it('rejects with the path without chroot', async () => {
  const { request, outcome } = requestOf(() => 'unused');

  request.answer(NO_NODE, empty());

  await expect(outcome).rejects.toMatchObject({ code: 'ZK_NO_NODE', path: '/a', serverCode: NO_NODE });
});

it('resolves with the fallback for a missing znode, but not for other errors', async () => {
  const missing = requestOf(() => 'unused', OpCode.EXISTS, 'fallback');
  const refused = requestOf(() => 'unused', OpCode.EXISTS, 'fallback');
  for (const { request } of [missing, refused]) request.hasFallback = true;

  missing.request.answer(NO_NODE, empty());
  refused.request.answer(-102, empty());

  await expect(missing.outcome).resolves.toBe('fallback');
  await expect(refused.outcome).rejects.toMatchObject({ code: 'ZK_NO_AUTH' });
});

it('rejects a reply that cannot be decoded, and reports the connection as broken', async () => {
  const { request, outcome } = requestOf(() => {
    throw new MalformedFrameError('too short');
  });

  expect(() => request.answer(0, empty())).toThrow(MalformedFrameError);

  await expect(outcome).rejects.toMatchObject({ code: 'ZK_MARSHALLING', path: '/a' });
});

it('counts its operations and writes', () => {
  const { request: read } = requestOf(() => undefined);
  const { request: create } = requestOf(() => undefined, OpCode.CREATE);
  const { request: multi } = requestOf(() => undefined, OpCode.MULTI);
  multi.operations = [
    { op: 'check', path: '/a' },
    { op: 'delete', path: '/a' },
  ];

  expect([read, create, multi].map(({ weight, writes }) => [weight, writes])).toEqual([
    [1, 0],
    [1, 1],
    [2, 2],
  ]);
});

it.each([
  ['', '/a', '/a'],
  ['/c', '/c/a', '/a'],
  ['/c', '/c', '/'],
  ['/c', '/other', '/other'],
])('strips the chroot %j from %j', (chroot, path, expected) => {
  expect(stripChroot(chroot, path)).toBe(expected);
});
