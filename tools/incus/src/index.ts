export { Lxd } from './lxd.js';
export { makeTinyImage, type TinyImage } from './tiny-image.js';
