import { describe, expect, it } from 'vitest';
import { reportOldFormat } from './old-format.js';
import { ProblemCollector } from './problems.js';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';

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
