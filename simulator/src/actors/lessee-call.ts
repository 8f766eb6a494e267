import type { Random } from '@nodepool/core/testing';
import type { Clock } from '@nodepool/zk-protocol';
import type { SimulatedLauncher } from './launcher.js';
import type { LeaseApi } from './lease-api.js';

/** Time after which a client stops waiting for an answer. */
export const ANSWER_LIMIT_MS = 10_000;

/** No answer: the client does not know whether its call took effect. */
export class Unanswered extends Error {}

/**
 * One call of a lessee over the network.
 * @param lostShare - share of requests, and of answers, that are lost
 * @throws {Unanswered} nothing is known
 */
export function callLauncher<T>(
  clock: Clock,
  random: Random,
  { process, api }: SimulatedLauncher,
  lostShare: number,
  act: (api: LeaseApi) => Promise<T>,
): Promise<T> {
  const isLost = () => lostShare > 0 && random.chance(lostShare);
  const latencyMs = () => random.exponential(3);
  return new Promise<T>((resolve, reject) => {
    const expire = clock.setTimer(ANSWER_LIMIT_MS, () => reject(new Unanswered('no answer')));
    const answer = (reply: () => void) => {
      if (process?.isDead || isLost()) return;
      clock.setTimer(latencyMs(), () => {
        expire();
        reply();
      });
    };
    if (!process || !api) return answer(() => reject(new Unanswered('connection refused')));
    if (isLost()) return;
    process.clock.sockets.setTimer(latencyMs(), () => {
      const handle = async () => act(api);
      handle().then(
        (value) => answer(() => resolve(value)),
        (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
      );
    });
  });
}
