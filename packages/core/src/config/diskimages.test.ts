import { mapOf } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { readDiskimages } from './diskimages.js';
import { ProblemCollector } from './problems.js';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';

function read(yaml: string) {
  const document = parseSource('f', yaml, substituteEnvironment(yaml, {}));
  const problems = new ProblemCollector();
  const images = readDiskimages(mapOf(document.value)['diskimages'], new Map(), document, problems);
  return { images, problems: problems.problems.map(({ path, message }) => `${path}: ${message}`) };
}

describe('diskimages', () => {
  it('have the defaults of the builder', () => {
    expect(read('diskimages: [{name: a}]').images.get('a')).toEqual({
      name: 'a',
      abstract: false,
      parent: undefined,
      formats: [],
      keepFormats: [],
      deleteAfterUpload: false,
      rebuildAgeMs: 86_400_000,
      buildTimeoutMs: 28_800_000,
      release: '',
      elements: [],
      envVars: {},
      pause: false,
      username: 'zuul',
      pythonPath: 'auto',
      shellType: undefined,
      dibCmd: 'disk-image-create',
      validate: undefined,
      canary: false,
      metadata: {},
    });
  });

  it('inherit the validation of their parent unless they override it', () => {
    const { images } = read(`
diskimages:
- {name: base, abstract: true, validate: {pool: tests, command: /bin/check}}
- {name: same, parent: base}
- {name: other, parent: base, validate: {timeout: 5}}
`);
    const validation = { pool: 'tests', label: undefined, command: '/bin/check', timeoutMs: 600_000 };
    expect(images.get('same')?.validate).toEqual(validation);
    expect(images.get('other')?.validate).toEqual({
      pool: undefined,
      label: undefined,
      command: undefined,
      timeoutMs: 5_000,
    });
  });

  it('inherit the trial of new builds, whose former keys are named as such', () => {
    const { images, problems } = read(`
diskimages:
- {name: base, abstract: true, canary: {}}
- {name: same, parent: base}
- {name: other, canary: {launches: 20, step-time: 600}}
`);
    expect([...images.values()].map(({ canary }) => canary)).toEqual([true, true, true]);
    expect(problems).toEqual([
      expect.stringMatching(/^diskimages\[2\]\.canary\.launches: it has no effect any more: .* "validate" tests/),
      expect.stringMatching(/^diskimages\[2\]\.canary\.step-time: it has no effect/),
    ]);
  });

  it('inherit from the root of the chain down, each key by its own rule', () => {
    const { images } = read(`
diskimages:
- name: child
  parent: middle
  elements: [c]
  env-vars: {B: child}
  rebuild-age: 0
  formats: []
  pause: false
- name: middle
  parent: base
  elements: [m]
  release: 21
  delete-after-upload: true
- name: base
  abstract: true
  pause: true
  elements: [b]
  formats: [raw]
  rebuild-age: 60
  username: root
  env-vars: {A: base, B: base}
`);

    expect(images.get('child')).toMatchObject({
      abstract: false,
      elements: ['b', 'm', 'c'],
      envVars: { A: 'base', B: 'child' },
      rebuildAgeMs: 60_000,
      formats: ['raw'],
      pause: true,
      release: '21',
      username: 'root',
      deleteAfterUpload: true,
    });
  });

  it.each(['../../etc/x', 'a/b', '/a', '.', '..'])(
    'cannot have the name %s, which becomes a part of file names',
    (name) => {
      expect(read(`diskimages: [{name: "${name}"}]`).problems).toEqual([
        `diskimages[0].name: diskimage "${name}" would be built outside of images-dir or nowhere: its name becomes a part of ` +
          'file names, so choose one without "/", and neither "." nor ".."',
      ]);
      expect(read(`diskimages: [{name: "${name}", abstract: true}]`).problems).toEqual([]);
    },
  );

  it('cannot have a format that escapes the folder', () => {
    expect(read('diskimages: [{name: a, formats: [raw, ../q], keep-formats: [/x]}]').problems).toEqual([
      'diskimages[0].formats[1]: diskimage "a" has the format "../q", which becomes the ending of a file name: write a format ' +
        'such as qcow2 or raw',
      expect.stringMatching(/^diskimages\[0\].keep-formats\[0\]: diskimage "a" has the format "\/x"/),
    ]);
  });

  it('may have any other name that Nodepool (Python) accepts', () => {
    expect(read('diskimages: [{name: "..a b:c", formats: [a.b]}]').problems).toEqual([]);
  });

  it('do not inherit metadata, with a warning', () => {
    const { images, problems } = read('diskimages: [{name: a, metadata: {x: 1}}, {name: b, parent: a}]');

    expect(images.get('b')?.metadata).toEqual({});
    expect(problems).toEqual([
      'diskimages[1]: metadata is not inherited: that of "a" does not apply to "b", repeat it here',
    ]);
  });

  it('report unknown parents and cycles once per affected image', () => {
    const { problems } = read(`diskimages:
- {name: ubuntu}
- {name: a, parent: ubunu}
- {name: of-a, parent: a}
- {name: x, parent: y}
- {name: y, parent: x}
- {name: self, parent: self}
`);

    expect(problems).toEqual([
      'diskimages[1].parent: diskimage "a" has the non-existent parent "ubunu", expected the name of a diskimage, did you mean "ubuntu"?',
      'diskimages[4].parent: the parents form a circle: x -> y -> x',
      'diskimages[3].parent: the parents form a circle: y -> x -> y',
      'diskimages[5].parent: the parents form a circle: self -> self',
    ]);
  });
});
