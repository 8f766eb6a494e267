/** What the exit statuses of `nodepool` mean, for help, man page and documentation. */
export const EXIT_STATUSES: readonly (readonly [status: string, meaning: string])[] = [
  ['0', 'success; for commands of the original also when there is nothing with the given id, unless --strict is given'],
  ['1', 'an error, told in one line; no command given; findings of doctor; resources that adopt leaves'],
  ['2', 'the command line cannot be understood'],
  ['126, 127', 'run, ssh: the command cannot be executed, or does not exist'],
  ['128 + N', 'ended by signal N'],
  ['255', 'ssh: it could not log in, or the connection broke'],
];
