export { Lxd } from './lxd.js';
export { makeTinyImage, missingPrograms, packTinyImage, type TinyImage } from './tiny-image.js';
