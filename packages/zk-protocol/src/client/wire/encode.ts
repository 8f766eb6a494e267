import type { Acl, Operation } from '../contract/types.js';
import { AddWatchMode, CreateFlag, OpCode, WATCHER_TYPE_ANY, Xid } from './opcodes.js';
import type { Encoder } from './request.js';
import { WireWriter } from './writer.js';

function writeAcl(writer: WireWriter, acl: readonly Acl[]): void {
  writer.int(acl.length);
  for (const entry of acl) {
    writer.int(entry.permissions);
    writer.string(entry.scheme);
    writer.string(entry.id);
  }
}

export const encodeCreate: Encoder = (writer, request) => {
  writer.string(request.path);
  writer.data(request.data);
  writeAcl(writer, request.acl);
  writer.int(request.flags);
};

export const encodeCreateTtl: Encoder = (writer, request) => {
  encodeCreate(writer, request);
  writer.longNumber(request.ttlMs);
};

export const encodePath: Encoder = (writer, request) => {
  writer.string(request.path);
};

export const encodePathAndVersion: Encoder = (writer, request) => {
  writer.string(request.path);
  writer.int(request.version);
};

export const encodeRead: Encoder = (writer, request) => {
  writer.string(request.path);
  writer.bool(request.watchKind !== undefined);
};

export const encodeSetData: Encoder = (writer, request) => {
  writer.string(request.path);
  writer.data(request.data);
  writer.int(request.version);
};

export const encodeSetAcl: Encoder = (writer, request) => {
  writer.string(request.path);
  writeAcl(writer, request.acl);
  writer.int(request.version);
};

export const encodeAddWatch: Encoder = (writer, request) => {
  writer.string(request.path);
  writer.int(request.flags);
};

export const encodeRemoveWatches: Encoder = (writer, request) => {
  writer.string(request.path);
  writer.int(WATCHER_TYPE_ANY);
};

export const encodeNothing: Encoder = () => {};

function multiHeader(writer: WireWriter, type: number, done: boolean): void {
  writer.int(type);
  writer.bool(done);
  writer.int(-1);
}

function operationPath(chroot: string, path: string): string {
  if (chroot === '') return path;
  return path === '/' ? chroot : chroot + path;
}

function encodeOperation(writer: WireWriter, operation: Operation, chroot: string, defaultAcl: readonly Acl[]): void {
  const path = operationPath(chroot, operation.path);
  switch (operation.op) {
    case 'create':
      // create2, whose result includes the stat
      multiHeader(writer, OpCode.CREATE2, false);
      writer.string(path);
      writer.data(operation.data ?? '');
      writeAcl(writer, operation.acl ?? defaultAcl);
      writer.int(createFlags(operation.ephemeral, operation.sequential));
      return;
    case 'delete':
      multiHeader(writer, OpCode.DELETE, false);
      writer.string(path);
      writer.int(operation.version ?? -1);
      return;
    case 'set':
      multiHeader(writer, OpCode.SET_DATA, false);
      writer.string(path);
      writer.data(operation.data);
      writer.int(operation.version ?? -1);
      return;
    case 'check':
      multiHeader(writer, OpCode.CHECK, false);
      writer.string(path);
      writer.int(operation.version ?? -1);
  }
}

/** `request.acl` is the default ACL of creates. */
export const encodeMulti: Encoder = (writer, request) => {
  for (const operation of request.operations) encodeOperation(writer, operation, request.chroot, request.acl);
  multiHeader(writer, -1, true);
};

export const encodeMultiRead: Encoder = (writer, request) => {
  for (const read of request.reads) {
    multiHeader(writer, read.read === 'data' ? OpCode.GET_DATA : OpCode.GET_CHILDREN, false);
    writer.string(operationPath(request.chroot, read.path));
    writer.bool(false);
  }
  multiHeader(writer, -1, true);
};

/** Flags of a plain create. */
export function createFlags(ephemeral: boolean | undefined, sequential: boolean | undefined): number {
  return (ephemeral === true ? CreateFlag.EPHEMERAL : 0) | (sequential === true ? CreateFlag.SEQUENTIAL : 0);
}

/** Protocol number of a watch mode. */
export function watchModeNumber(mode: keyof typeof AddWatchMode): number {
  return AddWatchMode[mode];
}

/** The first packet of a connection; a session id of zero requests a new session. */
export function connectRequest(
  lastZxid: bigint,
  sessionTimeoutMs: number,
  sessionId: Buffer,
  password: Buffer,
): Buffer {
  const writer = new WireWriter();
  const mark = writer.beginFrame();
  writer.int(0);
  writer.long(lastZxid);
  writer.int(sessionTimeoutMs);
  writer.raw(sessionId);
  writer.data(password);
  writer.bool(false);
  writer.endFrame(mark);
  return writer.take();
}

/** An authentication packet. */
export function writeAuth(writer: WireWriter, scheme: string, auth: Uint8Array): void {
  const mark = writer.beginFrame();
  writer.int(Xid.AUTH);
  writer.int(OpCode.AUTH);
  writer.int(0);
  writer.string(scheme);
  writer.data(auth);
  writer.endFrame(mark);
}

/** Watches to set on a new connection; paths include the chroot. */
export interface WatchPaths {
  data: string[];
  exists: string[];
  children: string[];
  persistent: string[];
  recursive: string[];
}

export function writeSetWatches(writer: WireWriter, lastZxid: bigint, paths: WatchPaths): void {
  const mark = writer.beginFrame();
  writer.int(Xid.SET_WATCHES);
  writer.int(OpCode.SET_WATCHES2);
  writer.long(lastZxid);
  for (const list of [paths.data, paths.exists, paths.children, paths.persistent, paths.recursive]) {
    writer.int(list.length);
    for (const path of list) writer.string(path);
  }
  writer.endFrame(mark);
}
