export { driver } from './driver.js';
