import { USABLE } from '../../../test/contract/broken/usable.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('usable machines', USABLE);
