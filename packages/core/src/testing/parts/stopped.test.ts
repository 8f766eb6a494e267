import { STOPPED } from '../../../test/contract/broken/stopped.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('stopped', STOPPED);
