import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explanationFromJson, explanationToJson, explanationToText } from '../../src/service/index.js';
import { RULES } from '../../src/launcher/plan/types.js';
import { explainExample } from '../support/stuck-requests.js';

const DOCS = join(import.meta.dirname, '../../../../docs/explain.md');
/** `UPDATE_DOCS=1` writes the examples to the page instead of comparing them. */
const isUpdating = process.env['UPDATE_DOCS'] === '1';

/** The rule whose example the page shows in full. */
const IN_FULL = 'pool-full';

/** What the page shows of another example: the pool for which the rule decides. */
function excerptOf(text: string, rule: string): string {
  if (rule === IN_FULL) return `$ nodepool explain ${explainExample(rule).requestId}\n${text}`;
  const pool = text.split('\n\n').find((part) => part.split('\n')[0]?.endsWith(` (${rule})`));
  return pool?.trimEnd() ?? `no pool with ${rule}`;
}

/** The first text block in the section of a rule. */
function blockOf(rule: string): RegExp {
  return new RegExp(`(### \`${rule}\`\\n(?:(?!\\n##)[\\s\\S])*?\`\`\`text\\n)([\\s\\S]*?)(\\n\`\`\`)`);
}

describe('docs/explain.md', () => {
  it.each(RULES)('shows the explanation of a request stuck on %s', async (rule) => {
    const page = await readFile(DOCS, 'utf8');
    const text = excerptOf(explanationToText(explainExample(rule), [], 0), rule);

    if (isUpdating)
      await writeFile(
        DOCS,
        page.replace(blockOf(rule), (_all, head, _old, tail) => `${head}${text}${tail}`),
      );

    expect(blockOf(rule).exec(await readFile(DOCS, 'utf8'))?.[2]).toBe(text);
  });

  it.each(RULES)('has an example in which %s is decisive for one of the pools', (rule) => {
    expect(explainExample(rule).pools.map((pool) => pool.rule)).toContain(rule);
  });
});

describe('the JSON form of an explanation', () => {
  it.each(RULES)('preserves the example for %s', (rule) => {
    const explanation = explainExample(rule);

    const back = explanationFromJson(JSON.parse(JSON.stringify(explanationToJson(explanation))));

    expect({ ...back, pools: new Set(back?.pools) }).toEqual({ ...explanation, pools: new Set(explanation.pools) });
  });

  it.each([null, [], {}, { state: 'requested', pools: [{}] }, 'text'])('is not confused with %j', (value) => {
    expect(explanationFromJson(value)).toBeUndefined();
  });
});
