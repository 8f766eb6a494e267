import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(`${root}${file}`));

/** The type of a table of handlers that an expression or a variable is declared to be: `Handlers` or an alias of it. */
const isTable = (type: ts.TypeNode | undefined): boolean =>
  type !== undefined && ts.isTypeReferenceNode(type) && /Handlers$/.test(type.typeName.getText());

/** The keys of an object literal: names of states, where it is a table of handlers. */
function keysOf(table: ts.Expression | undefined): string[] {
  if (!table || !ts.isObjectLiteralExpression(table)) return [];
  return table.properties.flatMap(({ name }) =>
    name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? [name.text] : [],
  );
}

/** The state that `goto({ name: '...' })` leads to. */
function targetsOf(call: ts.CallExpression): string[] {
  const [state] = call.arguments;
  if (call.expression.getText() !== 'goto' || !state || !ts.isObjectLiteralExpression(state)) return [];
  return state.properties.flatMap((property) => {
    if (!ts.isPropertyAssignment(property) || property.name.getText() !== 'name') return [];
    return ts.isStringLiteral(property.initializer) ? [property.initializer.text] : [];
  });
}

/** The names of the states of all operations in a text. */
function stateNames(text: string): string[] {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isSatisfiesExpression(node) && isTable(node.type))
      keysOf(node.expression).forEach((name) => names.add(name));
    if (ts.isVariableDeclaration(node) && isTable(node.type))
      keysOf(node.initializer).forEach((name) => names.add(name));
    if (ts.isCallExpression(node)) targetsOf(node).forEach((name) => names.add(name));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true));
  return [...names];
}

describe('names of states', () => {
  const found = sources
    .map((file) => ({ file, names: stateNames(readFileSync(`${root}${file}`, 'utf8')) }))
    .filter(({ names }) => names.length > 0);

  it('are found in the operations of every driver that creates nodes, of the template and of the simple base', () => {
    const drivers = [
      'driver-fake/src/driver',
      'driver-gce/src',
      'driver-kubernetes/src',
      'driver-openstack/src',
      'driver-incus/src',
      'create-driver/template/src',
    ];
    const wanted = drivers.flatMap((dir) => [`packages/${dir}/create-node.ts`, `packages/${dir}/delete-node.ts`]);

    expect(found.map(({ file }) => file)).toEqual(
      expect.arrayContaining([...wanted, 'packages/core/src/cloud/simple-driver/simple-machines.ts']),
    );
    for (const { file, names } of found.filter((each) => wanted.includes(each.file))) {
      expect(names, file).toContain('start');
    }
  });

  it('are found as keys of handlers and as targets', () => {
    const text = `
      const a = { startUp: 1, 'in-use': 2 } satisfies Handlers<S, R, C>;
      const b: CreateHandlers = { snake_case: () => goto({ name: 'Target', id: '1' }) };
    `;

    expect(stateNames(text)).toEqual(['startUp', 'in-use', 'snake_case', 'Target']);
  });

  it('are kebab-case', () => {
    const wrong = found.flatMap(({ file, names }) =>
      names.filter((name) => !KEBAB_CASE.test(name)).map((name) => `${file}: ${name}`),
    );

    expect(wrong).toEqual([]);
  });
});
