import { spawnSync } from 'node:child_process';
import { Header } from 'tar';
import type { HeaderData } from 'tar';
import { ensureDebianPackages } from '@nodepool/test-servers';

const BLOCK = 512;
const PACKERS: Readonly<Record<string, readonly string[]>> = {
  'GNU tar': ['tar'],
  bsdtar: ['bsdtar'],
  busybox: ['busybox', 'tar'],
};

/** Names of programs that pack archives. Tests with them call {@link installPackers} first. */
export const PACKER_NAMES = Object.keys(PACKERS);

/** @throws {Error} a program is missing and cannot be installed */
export const installPackers = (): Promise<void> => ensureDebianPackages(['tar', 'libarchive-tools', 'busybox']);

/** The end of an archive. */
export const END = Buffer.alloc(2 * BLOCK);

/** Without its end, so that more can follow. */
export function packed(packer: string, directory: string, ...paths: readonly string[]): Buffer {
  const [program = '', ...args] = PACKERS[packer] ?? [];
  const { status, stdout, stderr } = spawnSync(program, [...args, '-c', '-f', '-', ...paths], { cwd: directory });
  if (status !== 0) throw new Error(`${packer} failed: ${stderr.toString()}`);
  let end = stdout.length;
  while (end > 0 && stdout.subarray(end - BLOCK, end).every((byte) => byte === 0)) end -= BLOCK;
  return stdout.subarray(0, end);
}

/** A member that no program packs. */
export function member(data: HeaderData, content = ''): Buffer {
  const header = new Header({ mode: 0o644, mtime: new Date(0), size: Buffer.byteLength(content), ...data });
  const block = Buffer.alloc(BLOCK);
  header.encode(block);
  const body = Buffer.alloc(Math.ceil(content.length / BLOCK) * BLOCK);
  body.write(content);
  return Buffer.concat([block, body]);
}

/** Sends archives in pieces, as a connection may do. */
export async function* inPieces(archive: Buffer, size = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += size) {
    yield archive.subarray(at, at + size);
    await Promise.resolve();
  }
}
