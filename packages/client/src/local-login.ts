import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NodepoolClientError } from './errors.js';

/** What the server asks of a user of its computer, and what it answers. */
type Answer = Readonly<Record<string, unknown>>;
/** Sends a call without a body to the socket. @returns the answer, parsed */
export type SendLogin = (path: string, authorization: string | undefined) => Promise<unknown>;

const PATH = '/local-login';
/** Beside the socket. Users may make directories there, and nothing else of other users. */
const LOGINS = 'logins';
const PRIVATE = 0o700;

/**
 * Logs in as the user of this process: the server names a directory, and the one who makes it is its owner.
 * @returns the token, for ten minutes
 * @throws NodepoolClientError `not-nodepool`, `unknown-user`; what `send` throws
 */
export async function logInLocally(socket: string, send: SendLogin): Promise<string> {
  const { name, proof } = (await send(PATH, undefined)) as Answer;
  // nothing else must be made in the name of this user
  if (typeof name !== 'string' || !/^[0-9a-f]{32}$/.test(name) || typeof proof !== 'string') throw stranger(socket);
  const directory = join(dirname(socket), LOGINS, name);
  await mkdir(directory, { mode: PRIVATE }).catch((error: unknown) => {
    const text = `Cannot log in at ${socket}: ${(error as Error).message}`;
    throw new NodepoolClientError('unknown-user', text, { cause: error });
  });
  try {
    const { token } = (await send(PATH, `Local ${name}:${proof}`)) as Answer;
    if (typeof token !== 'string') throw stranger(socket);
    return token;
  } finally {
    await rmdir(directory).catch(() => undefined); // a server that answered has removed it
  }
}

const stranger = (socket: string) =>
  new NodepoolClientError('not-nodepool', `${socket} does not log local users in: is it the socket of a launcher?`);
