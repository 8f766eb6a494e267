import { CONFIG } from '../../../test/contract/broken/config.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('config', CONFIG);
