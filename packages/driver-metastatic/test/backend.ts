import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, systemClock } from '@nodepool/zk-protocol';
import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { connectInMemory, MemoryServer, perfectConditions } from '@nodepool/zk-protocol/memory';
import type { MemoryLink, TransactionListener } from '@nodepool/zk-protocol/memory';
import { ProcessClock } from '@nodepool/core/testing';
import { PumpClock } from './pump-clock.js';

const SESSION_TIMEOUT_MS = 4_000;

/** Where sessions come from, and the time they live in. */
export interface Backend {
  readonly clock: Clock;
  /** @param random - makes the way to the server slow and unreliable */
  session(random?: () => number): Promise<ZooKeeper>;
  /** Breaks every connection during its operations. Sessions survive. */
  breakConnections(): Promise<void>;
  /** Ends a session as the death of its process does. */
  kill(zk: ZooKeeper): Promise<void>;
  stop(): Promise<void>;
}

/** A server with connections over loopback, in real time. */
export async function realBackend(): Promise<Backend> {
  const dataDir = await mkdtemp(join(tmpdir(), 'metastatic-'));
  let server = await startEmbeddedServer({ dataDir, fsync: false });
  const { connectString, port } = server;
  return {
    clock: systemClock,
    session: () => connect({ servers: connectString, sessionTimeoutMs: SESSION_TIMEOUT_MS }),
    breakConnections: async () => {
      await server.close();
      server = await startEmbeddedServer({ dataDir, fsync: false, port });
    },
    kill: (zk) => zk.close(),
    stop: async () => {
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** One whose server can be replaced by another member of its ensemble. */
export interface VirtualBackend extends Backend {
  /** Another member leads, whose clock is so far ahead. */
  lead(aheadMs: number): void;
}

/**
 * In one piece: its functions share the sessions. A server in this process, in virtual time: whatever is on its way when a connection breaks may or may not arrive.
 * @param onTransaction - called for each change, before anybody hears of it
 */
export function virtualBackend(onTransaction?: TransactionListener): VirtualBackend {
  const clock = new PumpClock();
  let leaderMs = 0;
  const serverClock: Clock = {
    now: () => clock.now() + leaderMs,
    steadyNow: () => clock.steadyNow(),
    setTimer: (ms, fn) => clock.setTimer(ms, fn),
  };
  const server = new MemoryServer(serverClock, onTransaction);
  const sessions = new Map<ZooKeeper, { link: MemoryLink; process: ProcessClock }>();
  return {
    clock,
    session: async (random) => {
      const conditions = random && {
        ...perfectConditions,
        requestDelayMs: () => random() * 3,
        replyDelayMs: () => random() * 3,
        survivors: (count: number) => Math.floor(random() * (count + 1)),
      };
      const process = new ProcessClock(clock);
      const { zk, link } = connectInMemory(server, {
        ...{ clock: process, serverClock: clock, sessionTimeoutMs: SESSION_TIMEOUT_MS },
        ...(conditions && { conditions, random }),
      });
      sessions.set(zk, { link, process });
      await zk.whenConnected();
      return zk;
    },
    lead: (aheadMs) => {
      leaderMs = aheadMs;
      server.changeLeader();
    },
    breakConnections: () => {
      for (const { link } of sessions.values()) link.break();
      return Promise.resolve();
    },
    kill: (zk) => {
      sessions.get(zk)?.process.kill();
      sessions.get(zk)?.link.sever();
      sessions.delete(zk);
      return Promise.resolve();
    },
    stop: () => {
      clock.stop();
      return Promise.resolve();
    },
  };
}
