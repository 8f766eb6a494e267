import { decline } from './decline.js';
import { fulfil } from './fulfil.js';
import { giveWay, letGo, putBack } from './put-back.js';
import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';

/** Writes the end of the work. Leads back to `collecting` when something has changed and must be looked at again. */
export function end(work: RequestWork, { how }: StepTo<'ending'>): Promise<StepTo<'collecting' | 'ended'>> {
  switch (how.kind) {
    case 'fulfil':
      return fulfil(work);
    case 'decline':
      return decline(work, how.reason, how.launchError);
    case 'put-back':
      return putBack(work, how.why);
    case 'give-way':
      return giveWay(work);
    case 'let-go':
      return letGo(work);
  }
}
