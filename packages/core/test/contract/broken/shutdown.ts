import { differing, providerWith, handlerWith, type BrokenDriver } from './broken-driver.js';

const REAL_TIMERS = 'shutdown: leaves no timer of the real clock behind';

/** Flaws that break the part "shutdown" of the contract. */
export const SHUTDOWN: readonly BrokenDriver[] = [
  {
    flaw: 'continues to look at the cloud after it was stopped',
    breaks: 'shutdown: stops without blocking, and leaves no timer behind',
    also: [
      'shutdown: gives up its start when that is aborted',
      'shutdown: ends a launch soon after it is aborted',
      'shutdown: finishes running work when it is stopped',
    ],
    make: differing({
      adapter: (_honest, cloud, { clock }) => ({
        start: async () => {
          const look = () => void clock.setTimer(30_000, () => void cloud.all().then(look, look));
          look();
          await Promise.resolve();
        },
      }),
    }),
  },
  {
    flaw: 'leaves an interval of the real clock behind',
    breaks: REAL_TIMERS,
    says: /shutdown\.ts.*time is that of context\.clock|time is that of context\.clock[^]*shutdown\.ts/,
    make: differing({
      adapter: (_honest, cloud) => ({
        start: async () => {
          setInterval(() => void cloud.all(), 3_600_000).unref();
          await Promise.resolve();
        },
      }),
    }),
  },
  {
    flaw: 'cannot be stopped twice',
    breaks: 'shutdown: may be stopped twice',
    also: ['shutdown: ends a launch soon after it is aborted'], // aborted by the launcher first
    make: providerWith((provider) => {
      let isStopped = false;
      return {
        stop: () => {
          if (isStopped) throw new Error('stopped already');
          isStopped = true;
          provider.stop();
        },
      };
    }),
  },
  {
    flaw: 'starts although its start is aborted',
    breaks: 'shutdown: gives up its start when that is aborted',
    make: differing({
      adapter: () => ({ start: (signal) => (signal.aborted ? new Promise(() => {}) : Promise.resolve()) }),
    }),
  },
  {
    flaw: 'does not hear that a launch is aborted',
    breaks: 'shutdown: ends a launch soon after it is aborted',
    make: handlerWith((handler) => ({
      launch: (order) =>
        handler.launch?.(order, new AbortController().signal) ?? Promise.reject(new Error('no launch')),
    })),
  },
];
