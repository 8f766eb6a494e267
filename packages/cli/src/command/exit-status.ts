/** What the exit statuses of `nodepool` mean, for help, man page and documentation. */
export const EXIT_STATUSES: readonly (readonly [status: string, meaning: string])[] = [
  ['0', 'success; commands of the original Nodepool also return it for an unknown id, unless --strict is given'],
  ['1', 'an error, reported in one line; no command given; errors that doctor finds; resources that adopt leaves'],
  ['2', 'invalid command line'],
  ['126, 127', 'run, ssh: the command cannot be executed, or does not exist'],
  ['128 + N', 'ended by signal N'],
  ['255', 'ssh: login failed, or the connection broke'],
];
