import { REUSE } from '../../../test/contract/broken/reuse.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('reuse', REUSE);
