import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';

/** Waits for capacity, with what the request lacks reserved for it, until something happens. */
export async function pause(work: RequestWork): Promise<StepTo<'collecting'>> {
  work.setPaused(true);
  await work.nextEvent();
  return { name: 'collecting' };
}
