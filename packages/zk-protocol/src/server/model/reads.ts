import { ErrorCode } from './constants.js';
import { isAllowed, maskedAcl, Permission } from './acl.js';
import type { ModelConnection } from './connection.js';
import { MAX_REPLY_BYTES } from './limits.js';
import type { DataTree } from './data-tree.js';
import type { WriteRequest } from './planner.js';
import type { ReadResult, ReplyBody } from './replies.js';
import type { ReadPart, Request } from './requests.js';
import type { Watches } from './watches.js';
import { statOf, type Znode } from './znode.js';

/** Requests that change at most watches. */
export type ReadRequest = Exclude<Request, WriteRequest | { op: 'multi' | 'closeSession' | 'refused' | 'setWatches' }>;
type GetChildren2 = Extract<Request, { op: 'getChildren2' }>;
type Exists = Extract<Request, { op: 'exists' }>;

function readResult(body: ReplyBody | number): ReadResult {
  if (typeof body === 'number') return { result: 'error', error: body };
  if (body.kind === 'data') return { result: 'getData', data: body.data, stat: body.stat };
  return { result: 'getChildren', children: body.kind === 'strings' ? body.strings : [] };
}

/** Upper bound of a list's bytes in a reply, which is cheaper than the exact number. */
function sizeOf(strings: readonly string[]): number {
  let size = strings.length * 4;
  for (const text of strings) size += text.length * 3;
  return size;
}

/** Executes reads. Results are the body of the reply, or an error number. */
export class Reads {
  constructor(
    private readonly tree: DataTree,
    private readonly watches: Watches,
    /** Sorts a list of children; clients must not rely on the order. */
    private readonly arrange: (names: string[]) => string[],
  ) {}

  /** Executes any read. */
  answer(request: ReadRequest, connection: ModelConnection): ReplyBody | number | undefined {
    switch (request.op) {
      case 'exists':
        return this.exists(request, connection);
      case 'getData':
      case 'getChildren':
      case 'getChildren2':
        return this.get(request, connection);
      case 'multiRead':
        return this.many(request.parts, connection);
      case 'getAcl':
        return this.acl(request.path, connection);
      case 'sync':
        return { kind: 'path', path: request.path };
      case 'ping':
        return undefined;
      case 'addWatch':
        this.watches.addPersistent(request.path, connection, request.mode);
        return { kind: 'count', count: 0 };
      case 'removeWatches':
        return this.watches.remove(request.path, connection, request.type) ? undefined : ErrorCode.noWatcher;
      case 'checkWatches':
        return this.watches.isWatched(request.path, request.type) ? undefined : ErrorCode.noWatcher;
      case 'getEphemerals':
        return this.ephemerals(request.prefix, connection);
      case 'getAllChildrenNumber':
        return this.allChildrenNumber(request.path, connection);
      case 'whoAmI':
        return this.whoAmI(connection);
    }
  }

  exists({ path, watch }: Exists, connection: ModelConnection): ReplyBody | number {
    if (path.includes('\0')) return ErrorCode.badArguments;
    if (watch) this.watches.data.add(path, connection, 'one-shot');
    const node = this.tree.get(path);
    return node === undefined ? ErrorCode.noNode : { kind: 'stat', stat: statOf(node) };
  }

  get(request: ReadPart | GetChildren2, connection: ModelConnection): ReplyBody | number {
    const node = this.readable(request.path, connection);
    if (typeof node === 'number') return node;
    if (request.watch) {
      const table = request.op === 'getData' ? this.watches.data : this.watches.child;
      table.add(request.path, connection, 'one-shot');
    }
    if (request.op === 'getData') return { kind: 'data', data: node.data, stat: statOf(node) };
    const strings = this.arrange([...(node.children ?? [])]);
    if (sizeOf(strings) > MAX_REPLY_BYTES) return ErrorCode.marshalling;
    if (request.op === 'getChildren') return { kind: 'strings', strings };
    return { kind: 'strings-stat', strings, stat: statOf(node) };
  }

  /** The results, or an error number if they exceed the size of a reply. */
  many(parts: readonly ReadPart[], connection: ModelConnection): ReplyBody | number {
    const results: ReadResult[] = [];
    let size = 0;
    for (const part of parts) {
      const result = readResult(this.get(part, connection));
      if (result.result === 'getData') size += result.data?.length ?? 0;
      if (result.result === 'getChildren') size += sizeOf(result.children);
      if (size > MAX_REPLY_BYTES) return ErrorCode.marshalling;
      results.push(result);
    }
    return { kind: 'multi', results };
  }

  acl(path: string, connection: ModelConnection): ReplyBody | number {
    const node = this.tree.get(path);
    if (node === undefined) return ErrorCode.noNode;
    if (!isAllowed(node.acl, Permission.read | Permission.admin, connection.auth)) return ErrorCode.noAuth;
    const isAdmin = isAllowed(node.acl, Permission.admin, connection.auth);
    return { kind: 'acl', acl: isAdmin ? node.acl : maskedAcl(node.acl), stat: statOf(node) };
  }

  ephemerals(prefix: string, connection: ModelConnection): ReplyBody {
    const all = [...this.tree.ephemeralsOf(connection.sessionId)];
    const isEverything = prefix.trim() === '' || prefix.trim() === '/';
    return { kind: 'strings', strings: isEverything ? all : all.filter((path) => path.startsWith(prefix)) };
  }

  allChildrenNumber(path: string, connection: ModelConnection): ReplyBody | number {
    const node = this.readable(path, connection);
    if (typeof node === 'number') return node;
    if (path === '/') return { kind: 'count', count: this.tree.size - 1 };
    const prefix = `${path}/`;
    let count = 0;
    for (const [candidate] of this.tree.entries()) {
      if (candidate.startsWith(prefix)) count++;
    }
    return { kind: 'count', count };
  }

  whoAmI({ auth }: ModelConnection): ReplyBody {
    const clients = auth.map(({ scheme, id }) => ({
      scheme,
      user: scheme === 'digest' ? (id.split(':', 1)[0] ?? '') : id,
    }));
    return { kind: 'clients', clients };
  }

  private readable(path: string, connection: ModelConnection): Znode | number {
    const node = this.tree.get(path);
    if (node === undefined) return ErrorCode.noNode;
    return isAllowed(node.acl, Permission.read, connection.auth) ? node : ErrorCode.noAuth;
  }
}
