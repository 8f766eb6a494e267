import { describe, expect, it } from 'vitest';
import { decodeText, reportOldFormat } from './read-sources.js';
import { ProblemCollector } from './problems.js';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';

const bytesOf = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

describe('decodeText', () => {
  it('decodes UTF-8 and strips the byte order mark', () => {
    expect(decodeText('f', bytesOf([0xef, 0xbb, 0xbf], 'ä: ß'))).toEqual({ text: 'ä: ß' });
  });

  it('keeps a replacement character of the file', () => {
    expect(decodeText('f', bytesOf('a: \uFFFD\n'))).toEqual({ text: 'a: \uFFFD\n' });
  });

  it.each([
    ['Latin-1', bytesOf('labels: []\n# f', [0xfc], 'r Ä\n'), 2, 4, 'this character is not UTF-8'],
    [
      'Latin-1 in lines that end with a carriage return',
      bytesOf('a: 1\rb: \uFFFD', [0xfc], '\r'),
      2,
      5,
      'this character is not UTF-8',
    ],
    ['a character cut off at the end', bytesOf('a: 1\nb: x', [0xe2, 0x82]), 2, 5, 'this character is not UTF-8'],
    ['UTF-16', bytesOf([0xff, 0xfe, 0x61, 0, 0x3a, 0]), 1, 1, 'the file is UTF-16'],
  ])('refuses %s, with its place', (_name, bytes, line, column, what) => {
    expect(decodeText('f', bytes)).toEqual({
      problem: {
        severity: 'error',
        position: { file: 'f', line, column },
        path: '',
        message: `${what}, expected UTF-8: save the file in that encoding`,
      },
    });
  });
});

function report(yaml: string) {
  const problems = new ProblemCollector();
  reportOldFormat(parseSource('f', yaml, substituteEnvironment(yaml, {})), problems);
  return problems.errors.map(({ position, message }) => [position?.line, message.split(':')[0]]);
}

describe('a file of a version before 3', () => {
  it.each([
    [
      'labels that name their providers',
      'labels:\n- name: a\n  image: a\n  min-ready: 1\n  providers:\n  - name: p\nproviders:\n- {name: p, max-servers: 3, images: [{name: a}]}\n',
      [
        [
          3,
          'this is a file for Nodepool before version 3 (it has "labels[].image", "labels[].providers", "providers[].images")',
        ],
      ],
    ],
    [
      'what only the old service needed',
      'cron: {cleanup: "*/1 * * * *"}\ntargets: [{name: zuul}]\nlabels: []\n',
      [[1, 'this is a file for Nodepool before version 3 (it has "cron", "targets")']],
    ],
  ])('is recognized by %s', (_name, yaml, errors) => {
    expect(report(yaml)).toEqual(errors);
  });

  it.each([
    ['keys left behind', 'targets: []\nproviders: [{name: p, pools: []}]\n'],
    [
      'keys left behind in its labels',
      'labels: [{name: a, image: i, providers: [{name: p}]}]\nproviders: [{name: p, cloud: c, pools: [{name: m}]}]\n',
    ],
    [
      'keys left behind in labels of a file for builders',
      'labels: [{name: a, image: i, providers: [{name: p}]}]\nproviders: [{name: p, diskimages: [{name: i}]}]\n',
    ],
    ['a stray key of its labels', 'labels: [{name: a, providers: [{name: p}]}]\n'],
    ["a driver's own key of an old name", 'providers: [{name: p, driver: rack, images: []}]\n'],
    ['nothing', '{}'],
  ])('is not recognized by %s', (_name, yaml) => {
    expect(report(yaml)).toEqual([]);
  });
});
