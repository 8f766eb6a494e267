import { NodepoolClientError } from './errors.js';

/** Whether what is sent to a server stays on this computer. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(127\.[\d.]+|\[::1\]|(.+\.)?localhost)$/.test(hostname);
}

/** The path of a Unix socket; `undefined` for other addresses. */
export function socketPathOf({ protocol, pathname }: URL): string | undefined {
  return protocol === 'unix:' ? decodeURIComponent(pathname) : undefined;
}

/**
 * Reads the address of a server. It may have a path, for a proxy that has Nodepool below one; other parts would be dropped, so they
 * are refused. `unix:/path` is the socket of a launcher of this computer. The text of the error has no password.
 * @throws NodepoolClientError `wrong-argument`
 */
export function readAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.username !== '' || url.password !== '')) {
    throw wrong(`${shown(url)} has a user or a password: leave them out, as only a token says who you are`);
  }
  const isSocket = /^unix:\/[^/]/.test(text);
  if (!url || !(isSocket || /^https?:$/.test(url.protocol))) {
    throw wrong(`${JSON.stringify(text.replace(/\/\/.*@/, '//...@'))} needs a form like https://nl01:8005`);
  }
  if (url.search !== '' || url.hash !== '')
    throw wrong(`${shown(url)} has more than a path: leave out what begins with ? or #`);
  return url;
}

const wrong = (what: string) => new NodepoolClientError('wrong-argument', `The address ${what}`);

const shown = ({ protocol, host, pathname }: URL) => `"${protocol}//${host}${pathname}"`;
