import { once } from 'node:events';
import { chownSync, lstatSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkUnixSocket, makeSocketDirectory } from './unix-socket.js';

const OWN = process.geteuid?.() ?? 0;
const OTHER_USER = OWN + 4_711;

describe('a Unix socket', () => {
  let directory: string;
  let path: string;
  let server: Server;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'unix-socket-'));
    path = join(directory, 'socket');
    server = createServer().listen(path);
    await once(server, 'listening');
  });
  afterEach(() => {
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** @returns the user for whom the directory belongs to another one: root's belong to everybody */
  function giveAway(): number {
    if (OWN !== 0) return OTHER_USER;
    chownSync(directory, OTHER_USER, -1);
    return OWN;
  }

  it('is used in a directory of this user', () => {
    expect(() => checkUnixSocket(path)).not.toThrow();
  });

  it('is not used in a directory of another user', () => {
    const uid = giveAway();

    expect(() => checkUnixSocket(path, uid)).toThrow(/is not used: .* belongs to another user/);
  });

  it('is not used when it is something else', () => {
    const [link, file] = [join(directory, 'link'), join(directory, 'file')];
    symlinkSync(path, link);
    writeFileSync(file, '');

    for (const each of [link, file]) expect(() => checkUnixSocket(each)).toThrow(/it is not a socket/);
  });

  it('gets a directory with exactly the permissions wanted, and none through a link', () => {
    const [inside, link] = [join(directory, 'made', 'socket'), join(directory, 'link')];
    symlinkSync(directory, link);
    makeSocketDirectory(inside, 0o750);
    makeSocketDirectory(inside, 0o700);

    expect(lstatSync(join(directory, 'made')).mode & 0o777).toBe(0o700);
    expect(() => makeSocketDirectory(join(link, 'socket'), 0o700)).toThrow(/it is not a directory/);
  });
});
