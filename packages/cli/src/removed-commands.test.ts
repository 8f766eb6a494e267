import { describe, expect, it } from 'vitest';
import { nodepool } from '../test/program.js';
import { COMMANDS } from './commands/index.js';

describe.each([
  ['top', ['--every', '5s'], 'use the status page of a launcher, or nodepool list --watch'],
  ['logs', ['--node', '0000000042', '-f'], 'use journalctl --unit nodepool-launcher --grep ID'],
  ['image-diff', ['debian'], 'on the builder, run diff on IMAGE-ID.d/dib-manifests/'],
])('%s, which was removed,', (name, options, replacement) => {
  it.each([[[name]], [[name, ...options]], [['-c', 'nodepool.yaml', name, '--help']]])(
    'ends %j with status 2 and what to use instead',
    async (argv) => {
      const { status, stdout, stderr } = await nodepool(...argv);

      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toContain(`nodepool: ${name} was removed: ${replacement}`);
    },
  );

  it('is in no list of commands, from which help, completion and man page are made', () => {
    expect(COMMANDS.map((command) => command.name)).not.toContain(name);
  });
});

it('suggests no removed command for a mistyped name', async () => {
  expect((await nodepool('tpo')).stderr).toBe("nodepool: unknown command tpo\nTry 'nodepool --help'.\n");
});
