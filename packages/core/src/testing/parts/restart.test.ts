import { RESTART } from '../../../test/contract/broken/restart.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('restart', RESTART);
