export type { BuilderOptions } from './options.js';
export { Builder } from './builder.js';
export type { Progress } from './context/progress.js';
export type { BuilderArguments } from './arguments.js';
export { main } from './main.js';
