import { LISTS } from '../../../test/contract/broken/lists.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('lists', LISTS);
