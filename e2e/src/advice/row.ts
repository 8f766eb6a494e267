import type { AdviceWorld, ShownCondition } from './advice-world.js';

/** A condition, and whether it ends when its advice is followed. */
export interface Row {
  readonly type: string;
  readonly reason: string;
  /** Brings it about. */
  begin(world: AdviceWorld): Promise<unknown>;
  /** The advice that it has. A group is the command to run: `nodepool (cancel \S+)`. */
  readonly advice: RegExp;
  /** Does what the advice says. Default: runs the command. */
  follow?(world: AdviceWorld, condition: ShownCondition): Promise<unknown> | void;
  /** What else is to be put right. Default: nothing. */
  end?(world: AdviceWorld): Promise<unknown> | void;
}

/** Follows the advice of a condition of a row. @throws the advice is not the expected one, or has no command */
export async function followAdvice(world: AdviceWorld, row: Row, condition: ShownCondition): Promise<void> {
  const found = row.advice.exec(condition.next_step);
  if (!found) throw new Error(`the advice is: ${condition.next_step}`);
  if (row.follow) {
    await row.follow(world, condition);
    return;
  }
  const command = found[1];
  if (command === undefined) throw new Error(`no command in the advice: ${condition.next_step}`);
  await world.nodepool(command.split(' '));
}
