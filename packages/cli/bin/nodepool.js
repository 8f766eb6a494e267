#!/usr/bin/env node
import { endProcess } from '../dist/end-process.js';
import { main } from '../dist/main.js';

await main(process.argv.slice(2));
await endProcess();
