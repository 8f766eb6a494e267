export type { LauncherArguments } from './arguments.js';
export { parseArguments } from './arguments.js';
export { main } from './main.js';
export type { LauncherRuntime } from './state/runtime.js';
export { createService, launcherRuntime } from './start-service.js';
