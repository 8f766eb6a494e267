import { CREATE } from '../../../test/contract/broken/create.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('create', CREATE);
