import { parseArgs } from 'node:util';
import { simulate, type RunResult } from './simulate.js';
import { simulateYear } from './year/year.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
    year: { type: 'boolean', default: false },
    only: { type: 'string' },
    most: { type: 'string' },
  },
});
const from = Number(values.from);
const seeds = Number(values.seeds);
const say = (text: string) => process.stdout.write(`${text}\n`);

if (values.year) {
  const { text, violations } = await simulateYear({
    ...{ seed: from, only: values.only, most: values.most === undefined ? undefined : Number(values.most) },
    progress: (line) => process.stderr.write(`${line}\n`),
  });
  say(text);
  for (const violation of violations.slice(0, 8)) say(`violation: ${violation}`);
  process.exit(violations.length > 0 ? 1 : 0);
}

const total = { steps: 0, transactions: 0, fulfilled: 0, failed: 0, elapsedMs: 0 };
const broken: number[] = [];
const beganMs = performance.now();
for (let seed = from; seed < from + seeds; seed++) {
  const result = await simulate(seed, values.trace);
  for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += result[key];
  if (values.trace) for (const line of result.trace) say(line);
  if (result.violations.length === 0) continue;
  broken.push(seed);
  report(result);
  if (!values['keep-going']) break;
}
const seconds = (performance.now() - beganMs) / 1000;
const done = broken.length > 0 && !values['keep-going'] ? (broken[0] ?? from) - from + 1 : seeds;
say(
  `${done} seeds, ${broken.length} with violations, ${(done / seconds).toFixed(1)} seeds/s; ` +
    `${total.fulfilled} requests fulfilled, ${total.failed} failed, ${total.transactions} transactions, ` +
    `${total.steps} steps, ${Math.round(total.elapsedMs / 3_600_000)} hours of virtual time`,
);
if (broken.length > 0) {
  say(`broken: ${broken.join(' ')}`);
  process.exitCode = 1;
}

function report({ seed, violations }: RunResult): void {
  say(`seed ${seed}:`);
  for (const violation of violations.slice(0, 8)) say(`  ${violation}`);
  say(`  replay: npm run simulate -- --from ${seed} --seeds 1 --trace`);
}
