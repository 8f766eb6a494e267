import { useEffect, useRef, useState } from 'preact/hooks';
import { useAccess } from './access.js';
import type { Overview } from './types.js';

const TRY_AGAIN_MS = 3_000;
const TICK_MS = 5_000;

/** The latest overview, and the time at which the connection was lost. */
export interface Live {
  readonly overview: Overview | undefined;
  /** `undefined` while connected. */
  readonly lostSince: Date | undefined;
}

/** Reads an event stream and reconnects when it ends. */
function listen(
  types: string,
  hear: (type: string, data: string) => void,
  state: (isOpen: boolean) => void,
): () => void {
  let source: EventSource | undefined;
  let timer: number | undefined;
  const open = () => {
    source = new EventSource(`api/v1/events?types=${types}`);
    source.onopen = () => state(true);
    source.onerror = () => {
      state(false);
      if (source?.readyState !== EventSource.CLOSED) return; // the browser reconnects
      clearTimeout(timer);
      timer = setTimeout(open, TRY_AGAIN_MS);
    };
    for (const type of types.split(',')) {
      source.addEventListener(type, (event: MessageEvent<string>) => hear(type, event.data));
    }
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** The current overview. */
export function useOverview(): Live {
  const [overview, setOverview] = useState<Overview>();
  const [lostSince, setLostSince] = useState<Date>();
  useEffect(
    () =>
      listen(
        'overview',
        (_type, data) => setOverview(JSON.parse(data) as Overview),
        (isOpen) => setLostSince((before) => (isOpen ? undefined : (before ?? new Date()))),
      ),
    [],
  );
  return { overview, lostSince };
}

/** A record, read again with each change. */
export function useRecord<T>(kind: 'node' | 'request', id: string): { record: T | undefined; isGone: boolean } {
  const [record, setRecord] = useState<T>();
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    const read = async () => {
      const response = await fetch(`api/v1/${kind}s/${encodeURIComponent(id)}`);
      if (!isCurrent) return;
      setGone(response.status === 404);
      if (response.ok) setRecord((await response.json()) as T);
    };
    const readAgain = () => void read().catch(() => undefined); // the banner reports a lost connection
    const end = listen(
      kind,
      (_type, data) => (JSON.parse(data) as { id: string }).id === id && readAgain(),
      (isOpen) => isOpen && readAgain(),
    );
    readAgain();
    const timer = setInterval(readAgain, TICK_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
      end();
    };
  }, [kind, id]);
  return { record, isGone };
}

/** A list, read periodically. @param path - below `/api/v1/` */
export function usePolled<T>(path: string): T | undefined {
  const [list, setList] = useState<T>();
  useEffect(() => {
    let isCurrent = true;
    const read = async () => {
      const response = await fetch(`api/v1/${path}`);
      const body = response.ok ? ((await response.json()) as T) : undefined;
      if (isCurrent && body !== undefined) setList(body);
    };
    const readAgain = () => void read().catch(() => undefined); // the banner reports a lost connection
    readAgain();
    const timer = setInterval(readAgain, TICK_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [path]);
  return list;
}

/** The shortest pause between two reads, as a multiple of what the last one took: a long list is read less often. */
const PAUSE_FACTOR = 10;

/** What only the owner of a token may read. */
export interface Private<T> {
  readonly answer: T | undefined;
  /** Why it was not read the last time, as the service says; empty: it was. */
  readonly problem: string;
  readonly readAgain: () => void;
}

/** Reads once. A refusal is passing if a repetition may succeed. */
async function readPrivate<T>(path: string, token: string) {
  const response = await fetch(`api/v1/${path}`, { headers: { authorization: `Bearer ${token}` } });
  const body = (await response.json()) as T & { detail?: string };
  if (response.ok) return { answer: body as T, problem: '', isPassing: false };
  return { problem: body.detail ?? response.statusText, isPassing: response.status >= 429 };
}

/**
 * What only the owner of a token may read, read again with each change and periodically.
 * @param path - below `/api/v1/`
 * @param change - another value after each change in the service, such as the overview
 */
export function usePrivate<T>(path: string, change: unknown): Private<T> {
  const { token } = useAccess();
  const [found, setFound] = useState<{ answer?: T; problem: string }>({ problem: '' });
  const readAgain = useRef(() => {});
  useEffect(() => {
    let [isCurrent, isBusy, isDue] = [true, false, false];
    const read = async () => {
      const next = await readPrivate<T>(path, token);
      // a launcher that is busy or starts says so; what was read before still holds
      if (isCurrent) setFound((before) => (next.isPassing ? { ...before, problem: next.problem } : next));
    };
    const readNow = async () => {
      isDue = isBusy;
      if (isBusy) return;
      isBusy = true;
      const beganMs = performance.now();
      await read().catch(() => undefined); // the banner reports a lost connection
      setTimeout(
        () => {
          isBusy = false;
          if (isDue && isCurrent) void readNow();
        },
        PAUSE_FACTOR * (performance.now() - beganMs),
      );
    };
    readAgain.current = () => void readNow();
    const timer = setInterval(readAgain.current, TICK_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [path, token]);
  useEffect(() => readAgain.current(), [path, token, change]);
  return { answer: found.answer, problem: found.problem, readAgain: () => readAgain.current() };
}

/** Seconds since the epoch, updated every few seconds. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The part of the address behind `#`. */
export function useRoute(): string {
  const [route, setRoute] = useState(location.hash.slice(1));
  useEffect(() => {
    const changed = () => setRoute(location.hash.slice(1));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}
