import { accept } from './accept.js';
import { collect } from './collect.js';
import { fulfil } from './fulfil.js';
import { giveUp } from './give-up.js';
import type { RequestWork } from './request.js';
import type { Stage, Step, StepTo } from './stage.js';

/** One row of the table: the function of a stage, and the steps to which it may lead. */
interface StageRow<Of extends Stage, Next extends Step['name']> {
  readonly next: readonly Next[];
  run(work: RequestWork, stage: Of): Promise<StepTo<Next>>;
}

/** A stage that leads to another step than its row names does not compile. */
function row<Of extends Stage, const Next extends Step['name']>(
  next: readonly Next[],
  run: StageRow<Of, NoInfer<Next>>['run'],
): StageRow<Of, Next> {
  return { next, run };
}

/** The life of a request that a pool works on, stage by stage. `docs/state-machines.md` has the picture. */
export const REQUEST_STAGES = {
  accepting: row<StepTo<'accepting'>, 'collecting' | 'ended'>(['collecting', 'ended'], accept),
  collecting: row<StepTo<'collecting'>, 'collecting' | 'paused' | 'fulfilling' | 'giving-up' | 'ended'>(
    ['collecting', 'paused', 'fulfilling', 'giving-up', 'ended'],
    collect,
  ),
  paused: row<StepTo<'paused'>, 'collecting'>(['collecting'], async (work) => {
    await work.nextEvent();
    return { name: 'collecting' };
  }),
  fulfilling: row<StepTo<'fulfilling'>, 'collecting'>(['collecting'], fulfil),
  'giving-up': row<StepTo<'giving-up'>, 'ended'>(['ended'], giveUp),
} satisfies Record<Stage['name'], unknown>;

/** Runs a stage. @returns the next step */
export function runStage(stage: Stage, work: RequestWork): Promise<Step> {
  switch (stage.name) {
    case 'accepting':
      return REQUEST_STAGES.accepting.run(work, stage);
    case 'collecting':
      return REQUEST_STAGES.collecting.run(work, stage);
    case 'paused':
      return REQUEST_STAGES.paused.run(work, stage);
    case 'fulfilling':
      return REQUEST_STAGES.fulfilling.run(work, stage);
    case 'giving-up':
      return REQUEST_STAGES['giving-up'].run(work, stage);
  }
}
