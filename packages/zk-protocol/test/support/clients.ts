import { afterEach, expect, vi } from 'vitest';
import type { ConnectionState, ZooKeeper } from '../../src/index.js';

type Cleanup = () => unknown;
const cleanups: Cleanup[] = [];

afterEach(async () => {
  while (cleanups.length > 0) await cleanups.pop()?.();
});

/** Runs a cleanup after the test, in reverse order. */
export function onTestEnd(cleanup: Cleanup): void {
  cleanups.push(cleanup);
}

/** Closes the client after the test. */
export function closing<T extends ZooKeeper>(client: T): T {
  onTestEnd(() => client.close());
  return client;
}

/** Stops the server or proxy after the test. */
export async function stopping<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  onTestEnd(() => server.stop());
  return server;
}

/** States in the order they were reported. */
export function recordStates(client: ZooKeeper): ConnectionState[] {
  const states: ConnectionState[] = [];
  client.onState((state) => states.push(state));
  return states;
}

/** Waits until the condition holds; the test's time limit ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Waits until the check passes. */
export function eventually(check: () => void | Promise<void>, timeoutMs = 50_000): Promise<void> {
  return vi.waitFor(check, { timeout: timeoutMs, interval: 10 });
}

/** Waits until the client is in a state. */
export function reaches(client: ZooKeeper, state: ConnectionState): Promise<void> {
  return eventually(() => expect(client.state).toBe(state));
}

/** Log lines as text, and a logger that collects them. */
export function recordingLogger() {
  const lines: string[] = [];
  const add = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    const error = fields?.error;
    lines.push(`${level} ${message}${error instanceof Error ? `: ${error.message}` : ''}`);
  };
  return { lines, logger: { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') } };
}

/** Waits for the next change to a state, however briefly it lasts. Call it before the action that causes the change. */
export function changesTo(client: ZooKeeper, state: ConnectionState): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = client.onState((next) => {
      if (next !== state) return;
      unsubscribe();
      resolve();
    });
  });
}
