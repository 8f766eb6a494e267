import type { LaunchStepTo } from './launch-stage.js';
import type { LaunchWork } from './launch-work.js';

/** Stores the node as `ready`. */
export async function storeReady(
  work: LaunchWork,
  { fields }: LaunchStepTo<'storing'>,
): Promise<LaunchStepTo<'ready'>> {
  await work.store({ ...fields, launchError: null, state: 'ready' });
  return { name: 'ready' };
}
