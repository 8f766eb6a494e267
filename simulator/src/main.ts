import type { FaultName } from './world/faults.js';
import { parseCommandLine, USAGE, UsageError, type SeedsCommand, type YearCommand } from './command-line.js';
import { simulate, type RunResult } from './simulate.js';
import { standbyReport } from './standby/report.js';
import type { LaunchCounts } from './world/launch-tally.js';
import type { Faults } from './world/world.js';
import { simulateYear } from './year/year.js';

const MOST_TOLD = 8;
const say = (text: string) => process.stdout.write(`${text}\n`);

async function runYear({ seed, only, most, oneLauncher, minReady }: YearCommand): Promise<void> {
  const progress = (line: string) => process.stderr.write(`${line}\n`);
  const { text, violations } = await simulateYear({ seed, only, most, setup: { oneLauncher, minReady }, progress });
  say(text);
  for (const violation of violations.slice(0, MOST_TOLD)) say(`violation: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}

async function runSeeds({ from, seeds, trace, keepGoing, faults, only }: SeedsCommand): Promise<void> {
  const instances = { made: 0, used: 0, withdrawn: 0, late: 0 };
  const total = { steps: 0, transactions: 0, fulfilled: 0, failed: 0, leases: 0, elapsedMs: 0 };
  const broken: number[] = [];
  const beganMs = performance.now();
  for (let seed = from; seed < from + seeds; seed++) {
    const result = await simulate(seed, { trace, faults, only });
    for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += result[key];
    for (const key of Object.keys(instances) as (keyof typeof instances)[])
      instances[key] += result.launches?.[key] ?? 0;
    if (trace) for (const line of result.trace) say(line);
    if (result.violations.length === 0) continue;
    broken.push(seed);
    report(result, faults, only);
    if (!keepGoing) break;
  }
  const seconds = (performance.now() - beganMs) / 1000;
  const done = broken.length > 0 && !keepGoing ? (broken[0] ?? from) - from + 1 : seeds;
  say(
    `${done} seeds, ${broken.length} with violations, ${(done / seconds).toFixed(1)} seeds/s; ` +
      `${total.fulfilled} requests fulfilled, ${total.failed} failed, ${total.leases} leases, ${total.transactions} transactions, ` +
      `${total.steps} steps, ${Math.round(total.elapsedMs / 3_600_000)} hours of virtual time`,
  );
  if (faults === 'launchers') say(instancesText(instances));
  if (broken.length === 0) return;
  say(`broken: ${broken.join(' ')}`);
  process.exitCode = 1;
}

function instancesText({ made, used, withdrawn, late }: LaunchCounts): string {
  const perNode = ((made - withdrawn - late) / used).toFixed(3);
  const reasons = `${withdrawn} for requests that were withdrawn, ${late} by orders of launchers that were gone`;
  return `${made} instances made, of them ${reasons}; ${used} nodes ready: ${perNode} for each`;
}

function report({ seed, violations }: RunResult, faults: Faults, only: readonly FaultName[]): void {
  say(`seed ${seed}:`);
  for (const violation of violations.slice(0, MOST_TOLD)) say(`  ${violation}`);
  const options = [...(faults === 'launchers' ? ['--launcher-faults'] : []), ...only.map((name) => `--fault ${name}`)];
  say(`  replay: ${['npm run simulate -- --from', seed, '--seeds 1 --trace', ...options].join(' ')}`);
}

try {
  const command = parseCommandLine(process.argv.slice(2));
  if (command.kind === 'help') say(USAGE);
  else if (command.kind === 'year') await runYear(command);
  else if (command.kind === 'standby') say(standbyReport(command));
  else await runSeeds(command);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`simulator: ${error.message}\nTry: node simulator/dist/main.js --help\n`);
  process.exitCode = 2;
}
