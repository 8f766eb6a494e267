import { QUOTA } from '../../../test/contract/broken/quota.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('quota', QUOTA);
