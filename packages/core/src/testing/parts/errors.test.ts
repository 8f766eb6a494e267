import { ERRORS } from '../../../test/contract/broken/errors.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('errors', ERRORS);
