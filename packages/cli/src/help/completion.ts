import type { Command } from '../command/command.js';
import { GENERAL_OPTIONS, READING_OPTIONS } from '../command/global-options.js';
import { argumentRows, optionRows } from './option-rows.js';
import type { OptionRow } from './option-rows.js';

/** Shells that completion is made for. */
export type Shell = 'bash' | 'zsh' | 'fish';

interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionRow[];
  /** Words that the arguments can be, as far as they are known. */
  readonly words: readonly string[];
  readonly takesLabels: boolean;
}

/** Lists labels, with a time limit for a waiting prompt. */
const LIST_LABELS = 'labels --connect-timeout 2s --no-headers --fields label 2>/dev/null';

function completedCommands(commands: readonly Command[]): Completed[] {
  return commands.map(({ name, summary, options = {}, reads, usage, positionals, takesLabels = false }) => ({
    name,
    summary,
    options: optionRows({ ...options, ...(reads === true ? READING_OPTIONS : {}) }),
    words: argumentRows(usage, positionals).flatMap(({ choices }) => choices),
    takesLabels,
  }));
}

const GENERAL = optionRows(GENERAL_OPTIONS);

/** A script that completes the commands, options and fixed values of `nodepool`. It runs `nodepool labels` only to complete labels. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](completedCommands(commands));
}

const flagsOf = (options: readonly OptionRow[]) => options.flatMap(({ flags }) => flags).join(' ');

/** The values of options: alternatives of a `case` that looks at the option before. */
function bashValues(options: readonly OptionRow[]): string[] {
  return options.flatMap(({ flags, value, choices }) => {
    if (value === undefined || value.startsWith('[')) return [];
    const pattern = flags.join('|');
    if (choices.length > 0)
      return [`${pattern}) COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$cur")); return ;;`];
    if (value === 'FILE') return [`${pattern}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
    if (value === 'DIR') return [`${pattern}) compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur")); return ;;`];
    return [`${pattern}) return ;;`];
  });
}

/** Options with a value stand before it, so that the value is not taken for the command. */
const withValue = (options: readonly OptionRow[]) =>
  options.filter(({ value }) => value !== undefined).flatMap(({ flags }) => flags);

/** Options before the command, such as `-c`, say which launchers are asked. */
const BASH_LABELS = `[[ "$cur" == -* ]] || words="$(nodepool "\${COMP_WORDS[@]:1:index-1}" ${LIST_LABELS})"`;

function bashScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ name, options, words, takesLabels }) => {
    const values = bashValues(options).map((line) => `        ${line}`);
    const own = values.length === 0 ? [] : ['      case "$prev" in', ...values, '      esac'];
    return [
      `    ${name})`,
      ...own,
      `      options="$options ${flagsOf(options)}"; ${takesLabels ? BASH_LABELS : `words='${words.join(' ')}'`} ;;`,
    ].join('\n');
  });
  return `# bash completion of nodepool: source it, or put it into /etc/bash_completion.d
_nodepool() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" command='' words='' index
  local options='${flagsOf(GENERAL)}'
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      ${withValue(GENERAL).join('|')}) index=$((index + 1)) ;;
      -*) ;;
      *) command="\${COMP_WORDS[index]}"; break ;;
    esac
  done
  case "$prev" in
${bashValues(GENERAL)
  .map((line) => `    ${line}`)
  .join('\n')}
  esac
  case "$command" in
    '') words='${commands.map(({ name }) => name).join(' ')}' ;;
${cases.join('\n')}
  esac
  if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur"))
  else COMPREPLY=($(compgen -W "$words" -- "$cur")); fi
}
complete -F _nodepool nodepool
`;
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** An option for zsh's `_arguments`. */
function zshOption({ flags, value, describe, choices }: OptionRow): string {
  const text = describe.replaceAll(/[[\]:]/g, String.raw`\$&`);
  const isOptional = value?.startsWith('[') === true;
  const values = choices.length > 0 ? `(${choices.join(' ')})` : (ZSH_VALUES[value ?? ''] ?? ' ');
  const suffix = value === undefined || isOptional ? '' : `:${value.replaceAll(':', '')}:${values}`;
  const [first = '', second] = flags;
  const together = second === undefined ? '' : `(${first} ${second})`;
  return flags.map((each) => quoted(`${together}${each}[${text}]${suffix}`)).join(' ');
}

const ZSH_VALUES: Readonly<Record<string, string>> = { FILE: '_files', DIR: '_files -/' };

function zshScript(commands: readonly Completed[]): string {
  const cases = commands.map(({ name, options, words, takesLabels }) => {
    const lines = [...GENERAL, ...options].map(zshOption);
    const known = words.length === 0 ? quoted('*: : ') : quoted(`*:argument:(${words.join(' ')})`);
    const argument = takesLabels ? quoted('*:label:_nodepool_labels') : known;
    return `    ${name}) _arguments ${[...lines, argument].join(' \\\n      ')} ;;`;
  });
  return `#compdef nodepool
# zsh completion of nodepool: put it as _nodepool into a folder of $fpath
_nodepool_labels() { compadd -- \${=$(nodepool ${LIST_LABELS})} }
_nodepool() {
  local context state line
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', String.raw`\:`)}`)}`).join('\n')}
  )
  _arguments -C ${GENERAL.map(zshOption).join(' \\\n    ')} \\
    '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument) case $words[1] in
${cases.join('\n')}
    esac ;;
  esac
}
if [ "$funcstack[1]" = _nodepool ]; then _nodepool "$@"; else compdef _nodepool nodepool; fi
`;
}

function fishOption(condition: string, { flags, value, describe, choices }: OptionRow): string {
  const names = flags.map((each) => (each.startsWith('--') ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`)).join(' ');
  const isOptional = value?.startsWith('[') === true;
  const files = value === 'FILE' || value === 'DIR' ? '-rF' : '-x';
  const kind = value === undefined || isOptional ? '' : ` ${files}`;
  const list = choices.length > 0 ? ` -a ${quoted(choices.join(' '))}` : '';
  return `complete -c nodepool${condition} ${names}${kind}${list} -d ${quoted(describe)}`;
}

function fishScript(commands: readonly Completed[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const lines = commands.flatMap(({ name, summary, options, words, takesLabels }) => {
    const here = ` -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c nodepool -n 'not __fish_seen_subcommand_from ${names}' -a ${name} -d ${quoted(summary)}`,
      ...options.map((option) => fishOption(here, option)),
      ...(takesLabels ? [`complete -c nodepool${here} -a '(nodepool ${LIST_LABELS} | string trim)'`] : []),
      ...(words.length === 0 ? [] : [`complete -c nodepool${here} -a ${quoted(words.join(' '))}`]),
    ];
  });
  return `${[
    '# fish completion of nodepool: put it as nodepool.fish into ~/.config/fish/completions',
    'complete -c nodepool -f',
    ...GENERAL.map((option) => fishOption('', option)),
    ...lines,
  ].join('\n')}\n`;
}
