import { DELETE } from '../../../test/contract/broken/delete.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('delete', DELETE);
