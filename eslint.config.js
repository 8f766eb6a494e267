import js from '@eslint/js';
import jsdoc from 'eslint-plugin-jsdoc';
import tseslint from 'typescript-eslint';

const TESTS = ['**/*.test.ts', 'packages/*/test/**', 'e2e/**', 'tools/**', 'quickstart/**', 'scripts/**'];
const PROCESSES = ['packages/cli/**', 'packages/daemon/**', 'packages/launcher/**', 'packages/builder/**'];

const OWN_PROCESS = 'Only cli, daemon, launcher and builder own the process: take it as an argument.';
const OWN_CLOCK = 'Take the time from the Clock that is handed in.';

/** Syntax that is not allowed, and why. */
const SYNTAX = [
  {
    selector: 'ExportAllDeclaration',
    message: 'An index is a list of names: export them one by one.',
  },
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
];
const SIGNALS = {
  selector: 'CallExpression[callee.object.name="process"][callee.property.name=/^(on|once|addListener)$/]',
  message: OWN_PROCESS,
};

const MKDIR = {
  selector: 'CallExpression[callee.name=/^mkdir(Sync)?$/] Property[key.name="recursive"]',
  message: 'It never ends on a path such as /proc/x: use makeDirectory of zk-protocol.',
};

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      'packages/create-driver/template/build/**',
      '**/node_modules/**',
      '**/fixtures/**',
      'bench-results/**',
    ],
  },
  { linterOptions: { noInlineConfig: true } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname } },
    plugins: { jsdoc },
    rules: {
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-unnecessary-type-arguments': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/return-await': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: ['@nodepool/*/src/**', '@nodepool/*/dist/**', '**/packages/*/src/**'] }] },
      ],
      'no-restricted-syntax': ['error', ...SYNTAX],
      'object-shorthand': 'error',
    },
  },
  {
    files: ['packages/daemon/page/src/**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: './packages/daemon/page/tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: { 'no-undef': 'off', 'no-restricted-syntax': ['error', ...SYNTAX] },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: [...TESTS, '**/*.d.ts', 'packages/zk-protocol/src/client/wire/**'],
    rules: {
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: true,
          require: { ClassDeclaration: true, FunctionDeclaration: true },
          contexts: [
            'ExportNamedDeclaration > TSInterfaceDeclaration',
            'ExportNamedDeclaration > TSTypeAliasDeclaration',
            'ExportNamedDeclaration > VariableDeclaration',
          ],
          enableFixer: false,
        },
      ],
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'no-restricted-syntax': ['error', ...SYNTAX, MKDIR],
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: [...TESTS, ...PROCESSES],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: OWN_PROCESS },
        { object: 'process', property: 'argv', message: OWN_PROCESS },
        { object: 'process', property: 'exit', message: OWN_PROCESS },
        { object: 'Date', property: 'now', message: OWN_CLOCK },
      ],
      'no-restricted-globals': [
        'error',
        { name: 'setTimeout', message: OWN_CLOCK },
        { name: 'setInterval', message: OWN_CLOCK },
      ],
      'no-restricted-syntax': ['error', ...SYNTAX, SIGNALS, MKDIR],
    },
  },
  // It has no dependencies.
  { files: ['packages/create-driver/src/**'], rules: { 'no-restricted-syntax': ['error', ...SYNTAX, SIGNALS] } },
  {
    files: ['packages/zk-protocol/src/base/clock.ts', 'packages/client/src/sleep.ts'],
    rules: { 'no-restricted-properties': 'off', 'no-restricted-globals': 'off' },
  },
  { files: [...PROCESSES, 'e2e/**', 'tools/**', 'quickstart/**'], rules: { 'no-console': 'off' } },
  { files: ['vitest.config.ts', '**/*.d.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly', URL: 'readonly' } },
  },
  {
    files: ['examples/**/*.js'],
    languageOptions: { globals: { AbortController: 'readonly', fetch: 'readonly' } },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { module: 'writable', exports: 'writable', require: 'readonly' },
    },
  },
);
