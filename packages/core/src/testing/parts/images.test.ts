import { IMAGES } from '../../../test/contract/broken/images.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('images', IMAGES);
