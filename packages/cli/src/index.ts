export { main } from './main.js';
export { parseCommandLine } from './parser.js';
export type { AcquireArguments, Command, CommandLine, LogOptions } from './parser.js';
