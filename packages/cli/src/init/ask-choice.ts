import type { SetupChoice } from '@nodepool/core/config';
import { print } from '../command/context.js';
import type { Prompter } from './prompter.js';

/** More would scroll away. */
const MOST_SHOWN = 30;

/** What is asked. */
export interface Choice {
  readonly subject: string;
  readonly choices: readonly SetupChoice[];
  readonly optional?: boolean | undefined;
  /** Any text is an answer; the first choice is the default. */
  readonly open?: boolean | undefined;
}

/** Shows what there is, and asks until one is chosen, by number, name or a part of the name. */
export async function askChoice(prompter: Prompter, choice: Choice): Promise<string | undefined> {
  const { subject, choices, optional = false, open = false } = choice;
  const fallback = open ? choices[0]?.value : undefined;
  if (choices.length > (open ? 1 : 0)) showChoices(subject, choices);
  for (;;) {
    const hint = optional ? `${subject} (empty: none)` : subject;
    const answer = await prompter.ask(hint, fallback);
    if (answer === '') {
      if (optional) return undefined;
      continue;
    }
    const found = findChoice(choices, answer);
    if (found.length === 1) return found[0]?.value;
    if (open) return answer;
    if (found.length === 0) print(`There is no ${subject} "${answer}".`);
    else showChoices(`${subject} with "${answer}"`, found);
  }
}

/** The choice of this number or name; else all whose name has the text in it. */
export function findChoice(choices: readonly SetupChoice[], answer: string): readonly SetupChoice[] {
  const exact = choices.find(({ value }) => value === answer) ?? choices[Number(answer) - 1];
  if (exact) return [exact];
  const part = answer.toLowerCase();
  return choices.filter(({ value }) => value.toLowerCase().includes(part));
}

function showChoices(subject: string, choices: readonly SetupChoice[]): void {
  print(`\n${subject}:`);
  for (const [index, choice] of choices.slice(0, MOST_SHOWN).entries())
    print(`  ${String(index + 1).padStart(2)}  ${describeChoice(choice)}`);
  if (choices.length > MOST_SHOWN) print(`  and ${choices.length - MOST_SHOWN} more: type a part of the name`);
}

/** One line for a person. */
export function describeChoice({ value, note }: SetupChoice): string {
  return note === undefined ? value : `${value} (${note})`;
}
