import { NodepoolClientError } from './errors.js';

/**
 * Reads the address of a server. It may have a path, for a proxy that has Nodepool below one; other parts would be dropped, so they
 * are refused. The text of the error has no password.
 * @throws NodepoolClientError `wrong-argument`
 */
export function readAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.username !== '' || url.password !== '')) {
    throw wrong(`${shown(url)} has a user or a password: leave them out, as only a token says who you are`);
  }
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw wrong(`${JSON.stringify(text.replace(/\/\/.*@/, '//...@'))} needs a form like https://nl01:8005`);
  }
  if (url.search !== '' || url.hash !== '')
    throw wrong(`${shown(url)} has more than a path: leave out what begins with ? or #`);
  return url;
}

const wrong = (what: string) => new NodepoolClientError('wrong-argument', `The address ${what}`);

const shown = ({ protocol, host, pathname }: URL) => `"${protocol}//${host}${pathname}"`;
