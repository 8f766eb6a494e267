import type { RequestOutcome } from '../../contract/request-outcome.js';
import type { Assignment, Reason } from '../plan/types.js';
import type { Part } from './request-parts.js';

/** How the work on an accepted request ends without its nodes. */
export type GivenUp =
  /** @param launchError - stored in the request for its requestor; `null`: nothing is */
  | { readonly kind: 'decline'; readonly reason: Reason; readonly launchError: string | null }
  /** It cannot be served now: it is `requested` again. */
  | { readonly kind: 'put-back'; readonly why: string }
  /** Its nodes are deleted to free capacity for another request; it is `requested` again. */
  | { readonly kind: 'give-way' }
  /** Its requestor has withdrawn it. */
  | { readonly kind: 'let-go' };

/**
 * A stage of the work on a request.
 * - `accepting` the request and the first nodes are being locked
 * - `collecting` nodes are being checked and launched
 * - `paused` the request waits for capacity for missing nodes; others may be checked and launched meanwhile
 * - `fulfilling` `fulfilled` is being written, together with the last node if its launch waits for that
 * - `giving-up` another outcome is being written
 */
export type Stage =
  | { readonly name: 'accepting'; readonly assignment: Assignment }
  | { readonly name: 'collecting' }
  | { readonly name: 'paused' }
  | { readonly name: 'fulfilling'; readonly last: Part | undefined }
  | { readonly name: 'giving-up'; readonly how: GivenUp };

/** The result of a stage: another stage, or the end. */
export type Step = Stage | { readonly name: 'ended'; readonly outcome: RequestOutcome };

/** The steps of some names. */
export type StepTo<Name extends Step['name']> = Extract<Step, { readonly name: Name }>;
