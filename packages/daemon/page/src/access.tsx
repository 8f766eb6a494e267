import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { Outcome } from './parts.js';
import { fieldOf, isOpenWay } from './text.js';
import type { LeaseRights } from './types.js';

/** Kept until the tab is closed, and for this page alone. */
const STORED_AS = 'nodepool-token';
const TRY_AGAIN_MS = 3_000;
const NOT_FOUND = 404;
const UNAUTHORIZED = 401;

/** What the service allows with the token of this tab. */
export interface Access {
  /** Empty: none. */
  readonly token: string;
  /** Whether it may give orders, change nodes and requests, and build images. */
  readonly mayWrite: boolean;
  /** What it may lease; `undefined`: nothing. */
  readonly rights: LeaseRights | undefined;
}

/** Without a token the page only reads. */
export const NO_ACCESS: Access = { token: '', mayWrite: false, rights: undefined };

/** What the page may do. */
export const AccessContext = createContext(NO_ACCESS);

/** What the page may do. */
export const useAccess = () => useContext(AccessContext);

/** A token that is of use, or why it is of none. */
type Check = { readonly access: Access } | { readonly refusal: string; readonly isWrong: boolean };

/** Asks the service what a token allows. */
async function checkToken(token: string): Promise<Check> {
  const headers = { authorization: `Bearer ${token}` };
  try {
    let response = await fetch('api/v1/lease-rights', { headers });
    if (response.ok) {
      const rights = (await response.json()) as LeaseRights;
      return { access: { token, mayWrite: rights.operator, rights } };
    }
    // a builder leases nothing
    if (response.status === NOT_FOUND) response = await fetch('api/v1/token', { method: 'POST', headers });
    if (response.ok) return { access: { token, mayWrite: true, rights: undefined } };
    const { detail } = (await response.json()) as { detail?: string };
    if (response.status !== UNAUTHORIZED) return { refusal: detail ?? response.statusText, isWrong: false };
    return { refusal: 'This is not a token of this service', isWrong: true };
  } catch {
    return { refusal: 'No answer', isWrong: false };
  }
}

/** What this tab may do. `use` changes it, and says why a token is refused. */
export function useStoredAccess(): {
  readonly access: Access;
  readonly use: (token: string) => Promise<string>;
  readonly forget: () => void;
} {
  const [access, setAccess] = useState(NO_ACCESS);
  useEffect(() => {
    const stored = sessionStorage.getItem(STORED_AS) ?? '';
    let timer: number | undefined;
    const check = async () => {
      const found = await checkToken(stored);
      if (sessionStorage.getItem(STORED_AS) !== stored) return;
      if ('access' in found) setAccess(found.access);
      else if (found.isWrong) sessionStorage.removeItem(STORED_AS);
      else timer = setTimeout(() => void check(), TRY_AGAIN_MS);
    };
    if (stored !== '') void check();
    return () => clearTimeout(timer);
  }, []);
  const use = async (token: string) => {
    const found = await checkToken(token);
    if (!('access' in found)) return found.refusal;
    sessionStorage.setItem(STORED_AS, token);
    setAccess(found.access);
    return '';
  };
  const forget = () => {
    sessionStorage.removeItem(STORED_AS);
    setAccess(NO_ACCESS);
  };
  return { access, use, forget };
}

/** Keeps a form from being sent until a person has agreed that others may read the token on the way. */
function OpenWay() {
  return (
    <p>
      Not sent yet: others can read it on the way over plain HTTP. Open this page with https://, or on the launcher's
      computer.{' '}
      <label>
        <input name="insecure" type="checkbox" required /> Send it anyway, as this network is mine alone
      </label>
    </p>
  );
}

/** Where a person gives the page a token, or takes it away again. */
export function TokenForm({ access, use, forget }: ReturnType<typeof useStoredAccess>) {
  const [refusal, setRefusal] = useState('');
  const { token, mayWrite, rights } = access;
  if (token !== '') {
    const may = [mayWrite && 'write', rights && 'lease machines'].filter(Boolean).join(' and ');
    return (
      <p class="access">
        {rights ? `Token ${rights.name}` : 'This page'} may {may}.{' '}
        <button type="button" onClick={forget}>
          Forget the token
        </button>
      </p>
    );
  }
  const submit = async (given: string) => {
    const why = await use(given);
    setRefusal(why === '' ? '' : `Refused: ${why}`);
  };
  return (
    <details class="access">
      <summary>Use a token</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(fieldOf(event.currentTarget, 'token'));
        }}
      >
        <label>
          Token of the web API <input name="token" type="password" autocomplete="off" required />
        </label>{' '}
        {isOpenWay(location) && <OpenWay />}
        <button type="submit">Use</button> <Outcome text={refusal} />
      </form>
    </details>
  );
}
