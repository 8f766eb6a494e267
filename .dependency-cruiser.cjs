// The direction of dependencies:
//
//   cli, launcher, builder --> daemon --> core --> zk-protocol      e2e and tools may import anything and are never published
//          |- cli, launcher --> history --> core
//          |- cli --> client
//          '- load at run time --> driver-* --> core
'use strict';

const { dependencyRules } = require('./scripts/rooms.cjs');

const TESTS = '(\\.test\\.ts$|^packages/[^/]+/test/)';

/** A rule: sources of these packages (not their tests) import nothing that matches. */
const forbid = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: TESTS },
  to: typeof to === 'string' ? { path: to } : to,
});

module.exports = {
  forbidden: [
    ...dependencyRules(TESTS),
    {
      name: 'no-cycles',
      comment: 'Not of types either: put a type that two files need into a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'nothing-undeclared',
      comment:
        'A package imports only what its own package.json names. The page is bundled, so what it needs is needed at build time alone.',
      severity: 'error',
      from: { path: '^packages/', pathNot: [TESTS, '^packages/daemon/page/'] },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], dependencyTypesNot: ['npm-peer'] },
    },
    { name: 'nothing-missing', severity: 'error', from: {}, to: { couldNotResolve: true } },
    forbid('client-imports-no-package', '^packages/client/', '^(packages/(?!client/)|tools/|e2e/)'),
    forbid('zk-protocol-imports-no-package', '^packages/zk-protocol/', '^(packages/(?!zk-protocol/)|tools/|e2e/)'),
    forbid('core-imports-only-zk-protocol', '^packages/core/', '^(packages/(?!core/|zk-protocol/)|tools/|e2e/)'),
    forbid(
      'history-imports-only-core-and-zk-protocol',
      '^packages/history/',
      '^(packages/(?!history/|core/|zk-protocol/)|tools/|e2e/)',
    ),
    {
      name: 'drivers-import-only-core',
      comment: 'And what core stands on: the records and the clock of zk-protocol.',
      severity: 'error',
      from: { path: '^packages/(driver-[^/]+)/', pathNot: TESTS },
      to: { path: '^(packages|tools|e2e)/', pathNot: '^packages/($1|core|zk-protocol|driver-kubernetes)/' },
    },
    {
      name: 'only-openshift-drivers-import-the-kubernetes-driver',
      comment: 'They are other names of that package, as each driver has a package of its name.',
      severity: 'error',
      from: {
        path: '^packages/driver-',
        pathNot: ['^packages/driver-(kubernetes|openshift|openshiftpods)/', TESTS].flat(),
      },
      to: { path: '^packages/driver-kubernetes/' },
    },
    {
      name: 'services-import-no-service-and-no-driver',
      comment: 'Drivers are found at run time, by the name in the configuration.',
      severity: 'error',
      from: { path: '^packages/(cli|daemon|launcher|builder)/', pathNot: TESTS },
      to: { path: '^(packages|tools|e2e)/', pathNot: '^packages/($1|client|core|daemon|history|zk-protocol)/' },
    },
    forbid(
      'only-zk-protocol-uses-the-zookeeper-client',
      '^(packages/(?!zk-protocol/)|tools/|e2e/)',
      'node_modules/node-zookeeper-client',
    ),
    {
      name: 'tests-do-not-use-e2e',
      severity: 'error',
      from: { path: '^(packages|tools)/' },
      to: { path: '^e2e/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|fixtures)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.check.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@nodepool/source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.cjs', '.mjs', '.json'],
    },
  },
};
