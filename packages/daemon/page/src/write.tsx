import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { fieldOf } from './text.js';

/** Kept until the tab is closed, and for this page alone. */
const STORED_AS = 'nodepool-token';

/** With what the page may write; empty: it only reads. */
export const Token = createContext('');

/** The token of this tab, and how to set it. */
export function useStoredToken(): [token: string, store: (token: string) => void] {
  const [token, setToken] = useState(() => sessionStorage.getItem(STORED_AS) ?? '');
  return [
    token,
    (next) => {
      if (next === '') sessionStorage.removeItem(STORED_AS);
      else sessionStorage.setItem(STORED_AS, next);
      setToken(next);
    },
  ];
}

/** Whose token it is, as the service says. @returns why it is of no use, or nothing */
async function checkToken(token: string): Promise<string> {
  try {
    const response = await fetch('api/v1/token', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    if (response.ok) return '';
    const { detail } = (await response.json()) as { detail?: string };
    return response.status === 401 ? 'This is not a token of this service' : (detail ?? response.statusText);
  } catch {
    return 'No answer';
  }
}

/** Where a person gives the page a token, or takes it away again. */
export function Access({ token, store }: { token: string; store: (token: string) => void }) {
  const [refusal, setRefusal] = useState('');
  if (token !== '') {
    return (
      <p class="access">
        This page may write.{' '}
        <button type="button" onClick={() => store('')}>
          Forget the token
        </button>
      </p>
    );
  }
  const submit = async (given: string) => {
    const why = await checkToken(given);
    setRefusal(why === '' ? '' : `Refused: ${why}`);
    if (why === '') store(given);
  };
  return (
    <details class="access">
      <summary>Write</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(fieldOf(event.currentTarget, 'token'));
        }}
      >
        <label>
          Token of the web API <input name="token" type="password" autocomplete="off" required />
        </label>{' '}
        <button type="submit">Use</button> <Outcome text={refusal} />
      </form>
    </details>
  );
}

/** Something that is written through the API. */
export interface Write {
  readonly method: 'POST' | 'DELETE';
  /** Below `/api/v1/`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Writes, and has what came of it in words. */
export function useWrite(): { send: (write: Write, done: string) => Promise<void>; outcome: string; isBusy: boolean } {
  const token = useContext(Token);
  const [outcome, setOutcome] = useState('');
  const [isBusy, setBusy] = useState(false);
  const send = async ({ method, path, body }: Write, done: string) => {
    setBusy(true);
    setOutcome('');
    try {
      const response = await fetch(`api/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as { detail?: string };
      setOutcome(response.ok ? done : `Refused: ${answer.detail ?? response.statusText}`);
    } catch {
      setOutcome('Failed: no answer');
    } finally {
      setBusy(false);
    }
  };
  return { send, outcome, isBusy };
}

/** What came of a write, told to screen readers too. */
export function Outcome({ text }: { text: string }) {
  return (
    <span role="status" class={text.startsWith('Refused') ? 'lost' : 'live'}>
      {text}
    </span>
  );
}

/** A button that writes, there only with a token. */
export function WriteButton({ name, write, done, ask }: { name: string; write: Write; done: string; ask?: string }) {
  const token = useContext(Token);
  const { send, outcome, isBusy } = useWrite();
  if (token === '') return null;
  const press = () => {
    if (ask === undefined || confirm(ask)) void send(write, done);
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={press}>
        {name}
      </button>{' '}
      <Outcome text={outcome} />
    </>
  );
}
