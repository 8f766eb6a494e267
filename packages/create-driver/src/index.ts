export { createDriver } from './create-driver.js';
export { main } from './main.js';
