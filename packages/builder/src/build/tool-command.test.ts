import { describe, expect, it } from 'vitest';
import type { DiskimageConfig } from '@nodepool/core/config';
import { toolCommand, toolEnvironment, type ToolOrder, splitWords } from './tool-command.js';

function order(image: Partial<DiskimageConfig> = {}, changes: Partial<ToolOrder> = {}): ToolOrder {
  const diskimage = {
    ...{ name: 'debian', dibCmd: 'disk-image-create', elements: ['vm', 'debian  simple-init'], release: '12' },
    ...{ envVars: {}, ...image },
  } as DiskimageConfig;
  return {
    ...{ image: diskimage, formats: ['raw'], base: '/images/debian-1', elementsDir: undefined, tmpDir: '/tmp/1' },
    ...changes,
  };
}

/** The command without the shell that sets the mask. */
const words = (from: ToolOrder) => toolCommand(from, '/package').slice(4);

describe('the command line of a build', () => {
  it('names formats, the target and each element', () => {
    expect(words(order())).toEqual([
      ...['disk-image-create', '-x', '-t', 'raw', '--checksum', '--no-tmpfs', '-o', '/images/debian-1'],
      ...['vm', 'debian', 'simple-init'],
    ]);
  });

  it('makes qcow2 images that old clouds can start', () => {
    const command = words(order({}, { formats: ['qcow2', 'raw'] }));

    expect(command[command.indexOf('--qemu-img-options') + 1]).toBe('compat=0.10');
    expect(command[command.indexOf('-t') + 1]).toBe('qcow2,raw');
  });

  it('passes characters that are special to a shell unchanged', () => {
    expect(words(order({ dibCmd: `%p/tool "a b" $HOME '*' x#y` })).slice(0, 5)).toEqual([
      ...['/package/tool', 'a b', '$HOME', '*', 'x#y'],
    ]);
  });

  it.each(['', 'tool "a'])('is refused for the dib-cmd %j', (dibCmd) => {
    expect(() => words(order({ dibCmd }))).toThrow(
      /^diskimage "debian": dib-cmd .*: write the program and its arguments$/,
    );
  });
});

describe('the environment of a build', () => {
  it("has the builder's variables without secrets, overridden by those of the image", () => {
    const own = { PATH: '/bin', OS_PASSWORD: 'secret', TMPDIR: '/var/tmp' };
    const environment = toolEnvironment(order({ envVars: { DIB_RELEASE: '13', X: 'x' } }), own);

    expect(environment).toMatchObject({ PATH: '/bin', TMPDIR: '/tmp/1', DIB_RELEASE: '13', X: 'x' });
    expect(environment).not.toHaveProperty('OS_PASSWORD');
    expect(environment).not.toHaveProperty('ELEMENTS_PATH');
  });

  it('names the directory of elements if there is one', () => {
    expect(toolEnvironment(order({}, { elementsDir: '/elements' }), {})).toMatchObject({ ELEMENTS_PATH: '/elements' });
  });
});

describe('a command', () => {
  // What Python's shlex.split makes of the same texts.
  it.each([
    ['disk-image-create', ['disk-image-create']],
    ['  a\t b\n', ['a', 'b']],
    [
      'a $HOME *.raw #x | y > z; & `ls` $(ls) ~',
      ['a', '$HOME', '*.raw', '#x', '|', 'y', '>', 'z;', '&', '`ls`', '$(ls)', '~'],
    ],
    [`'a b'c "d e"f`, ['a bc', 'd ef']],
    [`'' ""`, ['', '']],
    [`'a"b' "a'b"`, ['a"b', "a'b"]],
    [String.raw`a\ b \'c \\ \$x`, ['a b', "'c", '\\', '$x']],
    [String.raw`"a\"b\\c\$d\e" 'a\b'`, ['a"b\\c\\$d\\e', 'a\\b']],
    ['', []],
    ['  ', []],
  ])('%j is split at blanks that are not quoted', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it.each([`a "b`, `a 'b`, 'a\\', `"a\\"`])('%j is not complete', (text) => {
    expect(splitWords(text)).toBeUndefined();
  });
});
