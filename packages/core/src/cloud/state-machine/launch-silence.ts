import type { LaunchWork } from './launch-work.js';

const LOOK_MS = 10_000;

/**
 * Stores in the node's record, where `explain` and the timeline find it, that the cloud does not answer calls, and that it answers again.
 * @returns ends it
 */
export function noteSilence(work: LaunchWork): () => void {
  const { clock, unanswered } = work.services;
  let noted: string | undefined;
  const look = (): void => {
    cancel = clock.setTimer(LOOK_MS, look);
    const text = unanswered();
    if ((text === undefined) === (noted === undefined)) return;
    const isOver = text === undefined && work.node.launchError === noted;
    noted = text;
    if (text !== undefined || isOver) void work.store({ launchError: text ?? null }).catch(() => undefined); // the attempt sees it
  };
  let cancel = clock.setTimer(LOOK_MS, look);
  return () => cancel();
}
