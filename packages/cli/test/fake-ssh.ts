import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { decodeNode, encodeNode, newNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { onTestFinished, vi } from 'vitest';
import { RemoteNode } from '../src/ssh/remote-node.js';

/** A node as a consumer reads it: in use at 10.0.0.1. */
export function nodeInUse(fields: NodeFields = {}): NodeRecord {
  const login = { interfaceIp: '10.0.0.1', username: 'zuul', connectionPort: 2222, connectionType: 'ssh' };
  const node = newNode({ state: 'in-use', ...login, ...fields }, 0);
  const decoded = decodeNode('0000000001' as NodeId, encodeNode(node), undefined, 0);
  if (!decoded) throw new Error('the record has no content');
  return decoded;
}

/** Puts a program of this name, a script for a shell, before all others, until the test is over. */
export function fakeProgram(directory: string, name: string, script: string): void {
  const program = join(directory, name);
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o700);
  vi.stubEnv('PATH', [directory, process.env['PATH']].join(delimiter));
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** A node, whose `ssh` is this script for a shell. */
export function nodeBehind(directory: string, script: string): RemoteNode {
  fakeProgram(directory, 'ssh', script);
  return new RemoteNode(nodeInUse(), '/dev/null');
}
