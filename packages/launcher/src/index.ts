export type { LauncherArguments } from './arguments.js';
export { parseArguments } from './arguments.js';
export { main } from './main.js';
export { createService, launcherRuntime } from './start-service.js';
