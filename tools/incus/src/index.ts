export { hold, strangeIn, type Daemon, type Heard, type Said } from './conversation.js';
export { Lxd } from './lxd.js';
export { makeTinyImage, missingPrograms, packTinyImage, type TinyImage } from './tiny-image.js';
