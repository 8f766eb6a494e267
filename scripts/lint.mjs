import { runChecks } from './checks.mjs';
import { ensureBuilt } from './ensure.mjs';

await ensureBuilt();
if ((await runChecks()).length > 0) process.exit(1);
