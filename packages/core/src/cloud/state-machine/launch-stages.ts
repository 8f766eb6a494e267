import type { Deadline } from '../../async/deadline.js';
import { createInstance } from './launch-creating.js';
import { deleteLeftovers } from './launch-delete-leftovers.js';
import { scanInstance } from './launch-scanning.js';
import type { LaunchStage, LaunchStep, LaunchStepTo } from './launch-stage.js';
import { storeReady } from './launch-storing.js';
import type { LaunchWork } from './launch-work.js';

/** One row of the table: what is done in a stage, and to which steps it may lead. */
interface StageRow<Of extends LaunchStage, Next extends LaunchStep['name']> {
  readonly next: readonly Next[];
  run(work: LaunchWork, stage: Of, deadline: Deadline): Promise<LaunchStepTo<Next>>;
}

/** A stage that leads to another step than its row names does not compile. */
function row<Of extends LaunchStage, const Next extends LaunchStep['name']>(
  next: readonly Next[],
  run: StageRow<Of, NoInfer<Next>>['run'],
): StageRow<Of, Next> {
  return { next, run };
}

/** One attempt to launch a node, stage by stage. `docs/state-machines.md` has the picture. */
export const LAUNCH_STAGES = {
  'delete-leftovers': row<LaunchStepTo<'delete-leftovers'>, 'creating'>(['creating'], deleteLeftovers),
  creating: row<LaunchStepTo<'creating'>, 'scanning' | 'storing'>(['scanning', 'storing'], createInstance),
  scanning: row<LaunchStepTo<'scanning'>, 'storing'>(['storing'], scanInstance),
  storing: row<LaunchStepTo<'storing'>, 'ready'>(['ready'], storeReady),
} satisfies Record<LaunchStage['name'], unknown>;

/** Does what a stage asks for. @throws the attempt has failed */
export function runLaunchStage(stage: LaunchStage, work: LaunchWork, deadline: Deadline): Promise<LaunchStep> {
  switch (stage.name) {
    case 'delete-leftovers':
      return LAUNCH_STAGES['delete-leftovers'].run(work, stage, deadline);
    case 'creating':
      return LAUNCH_STAGES.creating.run(work, stage, deadline);
    case 'scanning':
      return LAUNCH_STAGES.scanning.run(work, stage, deadline);
    case 'storing':
      return LAUNCH_STAGES.storing.run(work, stage, deadline);
  }
}
