// Outputs of diskimage-builder 3.13 with real failures, shortened; the paths are changed.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FailureReader } from './failure-reader.js';

function traceOf(text: string) {
  const reader = new FailureReader();
  for (const line of text.split(/(?<=\n)/)) reader.read(line);
  return reader.trace;
}

const real = (name: string) =>
  traceOf(readFileSync(new URL(`../../test/fixtures/failures/${name}.txt`, import.meta.url), 'utf8'));

describe('the cause of a failed build', () => {
  it.each([
    [
      'git-fails',
      'element source-repositories, extra-data.d/98-source-repositories',
      "fatal: unable to access 'https://git.invalid/team/thing.git/': Could not resolve host: git.invalid",
    ],
    ['script-fails', 'element script-fails, root.d/50-configure', "needed.conf has no entry 'needed'"],
    [
      'full-disk',
      'element full, root.d/50-fill',
      "dd: error writing '/var/tmp/nodepool-builder/dib_build.11w4hIc5/mnt/big': No space left on device",
    ],
    [
      'no-such-element',
      undefined,
      "diskimage_builder.element_dependencies.MissingElementException: Element 'no-such-element' not found",
    ],
    [
      'no-device-mapper',
      undefined,
      'error: kpartx -av /dev/loop0: /dev/mapper/control: open failed: No such device; ' +
        'Failure to communicate with kernel device-mapper driver.',
    ],
    [
      'package-of-element',
      'element package-installs, install.d/01-package-installs',
      'E: Unable to locate package no-such-package',
    ],
    ['unknown-package', undefined, 'E: Unable to locate package no-such-package'],
    [
      'security-suite',
      'element debian-minimal, root.d/75-debian-minimal-baseinstall',
      'E: Failed to fetch http://security.debian.org/dists/bookworm/updates/InRelease  400  Bad Request [IP: 203.0.113.80 80]; ' +
        "E: The repository 'http://security.debian.org bookworm/updates InRelease' is not signed.",
    ],
  ])('%s is the error of the script, not what the tool prints while it cleans up', (name, script, said) => {
    expect(real(name)).toEqual({ script, said });
  });

  const SCRIPT = 'dib-run-parts Running /tmp/in_target.d/install.d/50-x\n';

  it.each([
    ['an error that the script expects is far from the end', `fatal: no\n${'line\n'.repeat(30)}the end\n`, 'the end'],
    ['an expected error is of a script that succeeded', `fatal: no\ndib-run-parts 50-x completed\nover\n`, 'over'],
    [
      'nothing is printed',
      '+ grep -q needed /etc/x.conf\n',
      'nothing; its last command was grep -q needed /etc/x.conf',
    ],
    ['an error is printed twice', 'E: no\nE: no\nstopping\n', 'E: no'],
  ])('where %s', (_where, output, said) => {
    expect(traceOf(SCRIPT + output).said).toBe(said);
  });

  it('is not known without output', () => {
    expect(traceOf('')).toEqual({ script: undefined, said: undefined });
  });
});
