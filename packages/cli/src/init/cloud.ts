import type { DriverSetup, SetupChoice, SetupQuestion } from '@nodepool/core/config';
import { firstOf } from '@nodepool/core/service';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import type { Prompter } from './prompter.js';

/** What the answers come from. */
export interface CloudDialogue {
  readonly setup: DriverSetup;
  /** Of the command line. */
  readonly given: Readonly<Record<string, string>>;
  /** `undefined`: there is no terminal. */
  readonly prompter: Prompter | undefined;
  readonly signal: AbortSignal;
}

/** A message names no more choices than this. */
const MOST_NAMED = 20;

/**
 * Answers all questions of a driver. An answer of the command line is checked against what the cloud has.
 * @throws UsageError for an answer that no question asks for
 * @throws CliError for one that is missing, or that the cloud does not have
 */
export async function answerQuestions(context: CliContext, dialogue: CloudDialogue): Promise<Record<string, string>> {
  const { setup, given, signal } = dialogue;
  const { questions, options = [] } = setup;
  const known = [...questions.map(({ key }) => key), ...options];
  for (const key of Object.keys(given)) {
    if (!known.includes(key)) throw new UsageError(`--set ${key}: unknown, known are ${known.join(', ')}`);
  }
  const answers: Record<string, string> = {};
  for (const key of options) if (given[key] !== undefined) answers[key] = given[key];
  for (const question of questions) {
    const choices = await question.choices({ answers, env: context.env, clock: context.clock, signal });
    signal.throwIfAborted();
    const answer = await answerOne(question, choices, dialogue);
    if (answer !== undefined) answers[question.key] = answer;
  }
  return answers;
}

async function answerOne(question: SetupQuestion, choices: readonly SetupChoice[], dialogue: CloudDialogue) {
  const { key, subject, optional = false, open = false } = question;
  const { given, prompter } = dialogue;
  const answer = given[key];
  if (answer !== undefined) {
    if (open || choices.some(({ value }) => value === answer)) return answer;
    throw new CliError(`There is no ${subject} "${answer}". ${nameChoices(choices)}`.trimEnd());
  }
  if (choices.length === 0 && !open) {
    if (optional) return undefined;
    throw new CliError(`There is no ${subject} to choose`);
  }
  const [only] = choices;
  if (only && choices.length === 1 && !open && !optional) {
    print(`${subject}: ${describeChoice(only)}`);
    return only.value;
  }
  if (prompter) return askChoice(prompter, { subject, choices, optional, open });
  if (optional) return undefined;
  if (open && only) return only.value;
  throw new CliError(`No ${subject} is given: add --set ${key}=VALUE. ${nameChoices(choices)}`.trimEnd());
}

function nameChoices(choices: readonly SetupChoice[]): string {
  return choices.length === 0 ? '' : `There are: ${firstOf(choices.map(describeChoice), MOST_NAMED)}`;
}

/** More would scroll away. */
const MOST_SHOWN = 30;

/** What is asked. */
interface Choice {
  readonly subject: string;
  readonly choices: readonly SetupChoice[];
  readonly optional?: boolean | undefined;
  /** Any text is an answer; the first choice is the default. */
  readonly open?: boolean | undefined;
}

/** Shows what there is, and asks until one is chosen, by number, name or a part of the name. */
async function askChoice(prompter: Prompter, choice: Choice): Promise<string | undefined> {
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
function describeChoice({ value, note }: SetupChoice): string {
  return note === undefined ? value : `${value} (${note})`;
}
