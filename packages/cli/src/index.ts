export { main } from './main.js';
export { parseCommandLine } from './parser.js';
export type { CommandLine } from './parser.js';
export type { Command, Values } from './command/command.js';
export type { Format, GlobalOptions, LogOptions } from './command/global-options.js';
