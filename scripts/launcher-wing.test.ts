// The launcher's rule (ADR 0033): a class is given objects, and no functions; see `core/src/launcher`.
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const wing = join(root, 'packages/core/src/launcher');

const files = readdirSync(wing, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => join(wing, file));

const program = ts.createProgram(files, {
  ...{
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  },
  ...{ strict: true, noEmit: true, skipLibCheck: true, customConditions: ['@nodepool/source'], types: ['node'] },
});
const checker = program.getTypeChecker();

/** Parameters of constructors that are functions, or objects of the wing's own interfaces that have functions as members. */
function callbacksOf(file: string): string[] {
  const found: string[] = [];
  const source = program.getSourceFile(file);
  const visit = (node: ts.Node): void => {
    if (ts.isConstructorDeclaration(node)) {
      for (const parameter of node.parameters) found.push(...callbacksIn(parameter));
    }
    ts.forEachChild(node, visit);
  };
  if (source) visit(source);
  return found;
}

function callbacksIn(parameter: ts.ParameterDeclaration): string[] {
  const type = checker.getNonNullableType(checker.getTypeAtLocation(parameter));
  const where = `${relative(wing, parameter.getSourceFile().fileName)}: ${parameter.getText()}`;
  if (type.getCallSignatures().length > 0) return [where];
  return isOwnInterface(type)
    ? type
        .getProperties()
        .filter(isFunction)
        .map((member) => `${where}, ${member.name}`)
    : [];
}

/** What the plan sees of a pool, which `LivePoolView` is, a source of random numbers, and the owner of a `WorkQueue`, which decides. */
const EXCEPTIONS = new Set(['PoolView', 'random', 'Reconciler']);

/** Declared in the wing, and no class: what a class can do are its methods. */
function isOwnInterface(type: ts.Type): boolean {
  const declarations = EXCEPTIONS.has(type.symbol?.name) ? [] : (type.symbol?.declarations ?? []);
  return declarations.some(
    (each) =>
      (ts.isInterfaceDeclaration(each) || ts.isTypeLiteralNode(each)) && each.getSourceFile().fileName.startsWith(wing),
  );
}

function isFunction(member: ts.Symbol): boolean {
  const [declaration] = member.declarations ?? [];
  if (!declaration || EXCEPTIONS.has(member.name)) return false;
  const type = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(member, declaration));
  return type.getCallSignatures().length > 0;
}

it('no class of the launcher is given functions', () => {
  expect(files.flatMap(callbacksOf)).toEqual([]);
});
