/** What one instrument said at one moment. */
export interface Answer {
  readonly instrument: string;
  /** Seconds since the cause. */
  readonly afterS: number;
  readonly lines: readonly string[];
}

/** An incident, and what was said of it. */
export interface Outcome {
  readonly name: string;
  /** What names the cause. */
  readonly named: RegExp;
  readonly answers: readonly Answer[];
  /** Seconds from the repair until doctor no longer named the cause; `undefined`: it still did at the end. */
  readonly endedS?: number | undefined;
  /** What was looked up in the cloud. */
  readonly fact?: string | undefined;
  /** Why it could not be carried through. */
  readonly error?: string | undefined;
}

const MOST_CHARACTERS = 200;

const lineThatNames = ({ named }: Outcome, { lines }: Answer): string | undefined =>
  lines.find((line) => named.test(line));

const cut = (text: string): string => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text);

/** Markdown of one incident: what each instrument said, with the line that names the cause, else its first line. */
export function incidentText(outcome: Outcome): string {
  const items = outcome.answers.map((answer) => {
    const found = lineThatNames(outcome, answer);
    const said = cut((found ?? answer.lines[0] ?? '(nothing)').trim());
    return `- ${answer.instrument}, ${answer.afterS} s: ${found === undefined ? '' : '**named** '}\`${said.replaceAll('`', "'")}\``;
  });
  const { endedS, fact, error } = outcome;
  return [
    `## ${outcome.name}`,
    '',
    `Names the cause: \`${outcome.named.source}\``,
    '',
    ...items,
    ...(fact === undefined ? [] : [`- the cloud: ${fact}`]),
    ...(error === undefined ? [] : [`- **not carried through**: ${error.slice(-2_000)}`]),
    `- ${endedS === undefined ? 'doctor still named it at the end' : `doctor no longer named it ${endedS} s after the repair`}`,
    '',
  ].join('\n');
}

/** Markdown table of all incidents: per instrument the seconds after which it first named the cause, `-` if it did not. */
export function summary(outcomes: readonly Outcome[]): string {
  const instruments = [...new Set(outcomes.flatMap(({ answers }) => answers.map(({ instrument }) => instrument)))];
  const first = (outcome: Outcome, instrument: string): string => {
    const said = outcome.answers.filter((answer) => answer.instrument === instrument);
    const found = said.find((answer) => lineThatNames(outcome, answer) !== undefined);
    return found === undefined ? '-' : `${found.afterS}`;
  };
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    row(['incident', ...instruments, 'ended']),
    row(['---', ...instruments.map(() => '---:'), '---:']),
    ...outcomes.map((outcome) =>
      row([
        outcome.name,
        ...instruments.map((instrument) => first(outcome, instrument)),
        outcome.endedS === undefined ? '-' : `${outcome.endedS}`,
      ]),
    ),
  ].join('\n');
}

/** Incidents whose cause no instrument named, or that could not be carried through. */
export function unnamed(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter((one) => one.error !== undefined || !one.answers.some((said) => lineThatNames(one, said) !== undefined))
    .map(({ name }) => name);
}
