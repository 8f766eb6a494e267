import { useState } from 'preact/hooks';
import { useAccess } from './access.js';
import { Outcome } from './parts.js';

/** Something that is written through the API. */
export interface Write {
  readonly method: 'POST' | 'DELETE';
  /** Below `/api/v1/`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Makes a repetition the same write. */
  readonly idempotencyKey?: string;
}

/** Options of {@link useWrite}. */
interface Writer {
  /** Writes. @returns the answer; `undefined`: it was refused, or did not arrive */
  readonly send: (write: Write, done: string) => Promise<unknown>;
  /** What came of it, in words. */
  readonly outcome: string;
  readonly isBusy: boolean;
}

/** Writes, and has what came of it in words. */
export function useWrite(): Writer {
  const { token } = useAccess();
  const [outcome, setOutcome] = useState('');
  const [isBusy, setBusy] = useState(false);
  const send = async ({ method, path, body, idempotencyKey }: Write, done: string) => {
    setBusy(true);
    setOutcome('');
    try {
      const response = await fetch(`api/v1/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as { detail?: string };
      setOutcome(response.ok ? done : `Refused: ${answer.detail ?? response.statusText}`);
      return response.ok ? answer : undefined;
    } catch {
      setOutcome('Failed: no answer');
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { send, outcome, isBusy };
}

/** Options of {@link WriteButton}. */
interface WriteButtonProps {
  readonly name: string;
  readonly write: Write;
  readonly done: string;
  /** Asked before it is written. */
  readonly ask?: string;
  /** The name for screen readers, where several buttons have the same one. */
  readonly label?: string;
  /** Called once it is written. */
  readonly written?: () => void;
}

/** A button that writes. */
export function WriteButton({ name, write, done, ask, label, written }: WriteButtonProps) {
  const { send, outcome, isBusy } = useWrite();
  const press = async () => {
    if (ask !== undefined && !confirm(ask)) return;
    if ((await send(write, done)) !== undefined) written?.();
  };
  return (
    <>
      <button type="button" disabled={isBusy} aria-label={label} onClick={() => void press()}>
        {name}
      </button>{' '}
      <Outcome text={outcome} />
    </>
  );
}
