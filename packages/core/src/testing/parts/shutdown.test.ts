import { SHUTDOWN } from '../../../test/contract/broken/shutdown.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('shutdown', SHUTDOWN);
