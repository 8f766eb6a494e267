import type { ComputeDescription } from '../description/description.js';

/** Writes the description as a module, one line for each method and message, so that versions are easy to diff. */
export function toModule({ source, methods, definitions }: ComputeDescription): string {
  return [
    `// Made from protos.json of npm ${source} (Apache-2.0) by "npm run derive -w tools/fake-compute". Do not edit.`,
    "import type { JsonObject } from '@nodepool/zk-protocol';",
    '',
    "/** The part of Google's API description that this driver uses: methods, and JSON schemas of messages. */",
    'export const COMPUTE_V1: {',
    '  readonly source: string;',
    '  readonly methods: readonly {',
    '    readonly name: string;',
    '    readonly verb: string;',
    '    readonly path: string;',
    '    readonly query: JsonObject;',
    '    readonly body?: string;',
    '    readonly response: string;',
    '  }[];',
    '  readonly definitions: JsonObject;',
    '} = {',
    `  source: ${JSON.stringify(source)},`,
    '  methods: [',
    ...methods.map((method) => `    ${JSON.stringify(method)},`),
    '  ],',
    '  definitions: {',
    ...Object.entries(definitions).map(([name, schema]) => `    ${JSON.stringify(name)}: ${JSON.stringify(schema)},`),
    '  },',
    '};',
    '',
  ].join('\n');
}
