import { NOTHING_LEFT } from '../../../test/contract/broken/nothing-left.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('nothing left', NOTHING_LEFT);
